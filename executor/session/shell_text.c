#include "executor/session/shell_text.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/kernel.h"
#include "base/own.h"
#include "protocol/message.h"

#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | KERNEL_F_SEAL_FUTURE_WRITE)

int shell_text_init(struct shell_text *t)
{
	*t = (struct shell_text){ .fd = -1 };
	AUTO_CLOSE int fd =
		memfd_create("hutch-command", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, SHELL_TEXT_MAX) < 0)
		return -1;
	void *map = mmap(NULL, SHELL_TEXT_MAX, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -1;
	t->map = map;
	if (fcntl(fd, F_ADD_SEALS, SEALS) < 0) { /* layer: text-seal */
		shell_text_done(t);
		return -1;
	}
	t->fd = fd_take(&fd);
	return 0;
}

void shell_text_done(struct shell_text *t)
{
	own_close(&t->fd);
	if (t->map)
		(void)munmap(t->map, SHELL_TEXT_MAX); /* valid arguments */
	t->map = NULL;
}

int shell_text_put(struct shell_text *t, const char *prefix, struct bytes text)
{
	const size_t prefix_len = strlen(prefix);

	if (prefix_len + text.len + 1 > SHELL_TEXT_MAX || lseek(t->fd, 0, SEEK_SET) < 0)
		return -1;
	memcpy(t->map, prefix, prefix_len);
	if (text.len)
		memcpy(t->map + prefix_len, text.data, text.len);
	t->map[prefix_len + text.len] = '\0';
	return 0;
}

bool shell_text_is_read(const struct shell_text *t)
{
	return lseek(t->fd, 0, SEEK_CUR) != 0;
}
