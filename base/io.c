#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"

int io_write_all(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len > 0) {
		ssize_t n = write(fd, at, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Reads until there are `enough` of the `len` bytes, or the file ends. */
static ssize_t read_until(int fd, char *data, size_t len, size_t enough)
{
	size_t got = 0;

	do {
		ssize_t n = read(fd, data + got, len - got);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		got += (size_t)n;
	} while (got < enough);
	return (ssize_t)got;
}

ssize_t io_read_full(int fd, void *data, size_t len)
{
	return read_until(fd, data, len, len);
}

ssize_t io_read_sized(int fd, void *data, size_t size)
{
	return read_until(fd, data, size + 1, size);
}

int io_read_file(int fd, const char *name, size_t max, char **ret_data,
		 size_t *ret_len, struct err *e)
{
	size_t room = max < 4096 ? max + 1 : 4096, len = 0;
	AUTO_FREE char *data = mem_new(room);

	for (;;) {
		ssize_t n = io_read_full(fd, data + len, room - len);
		if (n < 0)
			return err_sys(e, "read %s", name);
		len += (size_t)n;
		if (len < room)
			break;
		if (room > max)
			return err_set(e, ERR_LIMIT, "read %s: larger than %zu bytes",
				       name, max);
		room = room * 2 > max ? max + 1 : room * 2;
		data = mem_resize(data, room, 1);
	}
	data[len] = '\0'; /* `len` is less than `room` here, so there is place for the
			   * NUL */
	*ret_data = data;
	data = NULL;
	*ret_len = len;
	return 0;
}

int io_write_proc(int dir, const char *path, const char *text, struct err *e)
{
	AUTO_CLOSE int fd = openat(dir, path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, "open %s", path);

	/* Files of procfs take a value only as a whole, so a short write is an error
	 * and is not continued. */
	size_t len = strlen(text);
	if (write(fd, text, len) != (ssize_t)len)
		return err_sys(e, "write '%.60s' to %s", text, path);
	return 0;
}

int io_fill_standard(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
			return -1;
	return 0;
}
