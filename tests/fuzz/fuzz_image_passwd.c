/* An image's passwd or group, after a first line with the name to look up: an
 * account that is found is one that a line defines. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/plan/image_passwd.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct account *a, const char *name)
{
	if (!memchr(a->name, '\0', sizeof(a->name)) ||
	    !memchr(a->home, '\0', sizeof(a->home)))
		abort();
	if (a->id == UINT32_MAX || a->group == UINT32_MAX ||
	    (*a->home && *a->home != '/'))
		abort();
	if (name && *a->name && strcmp(a->name, name) != 0)
		abort();
}

static void look(const uint8_t *data, size_t size, const char *name)
{
	AUTO_CLOSE int fd = memfd_create("accounts", MFD_CLOEXEC);
	struct account a = { 0 };

	if (fd < 0 || write(fd, data, size) != (ssize_t)size ||
	    lseek(fd, 0, SEEK_SET) < 0)
		abort();
	if (account_read(fd, name, 0, &a))
		check(&a, name);
	uint32_t ids[2] = { 0 };
	if (lseek(fd, 0, SEEK_SET) < 0 ||
	    (name && account_groups(fd, name, ids, 2) > size))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = memchr(data, '\n', size);
	char name[64] = "";

	if (!end || (size_t)(end - data) >= sizeof(name))
		return 0;
	memcpy(name, data, (size_t)(end - data));
	size -= (size_t)(end - data) + 1;
	look(end + 1, size, name);
	look(end + 1, size, NULL);
	return 0;
}
