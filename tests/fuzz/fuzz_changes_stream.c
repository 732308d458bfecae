/* Arbitrary bytes from a sender of changes: the part that is accepted describes a file
 * tree, in which each path is one component below a folder that came before. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "rootfs-tools/changes/changes_stream.h"

/* Bytes that a socket takes while nothing is read from it. */
#define INPUT_MAX (64u << 10)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Checks that no component of the path is empty or "..", and that the path is not
 * the root. */
static void check(const struct changes_stream_item *i)
{
	const char *at = i->path;

	if (i->kind == CHANGES_STREAM_LEFT_OUT)
		return;
	while (*at) {
		size_t len = strcspn(at, "/");
		if (len == 0 || (len == 1 && at[0] == '.') ||
		    (len == 2 && !strncmp(at, "..", 2)))
			abort();
		at += len;
		if (*at && !*++at)
			abort();
	}
	if (!*i->path || i->mode > 07777 || i->mtime_ns > 999999999)
		abort();
}

static void listen_to(int fd)
{
	struct changes_stream t;
	struct changes_stream_item item;
	const uint8_t *bytes;
	struct err e;

	changes_stream_listen(&t, fd);
	while (changes_stream_next(&t, &item, &e) > 0) {
		check(&item);
		if (item.kind == CHANGES_STREAM_FILE && item.size % 2)
			while (changes_stream_read(&t, &bytes, &e) > 0) {
				/* only read */
			}
	}
	changes_stream_done(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int ends[2];

	if (size > INPUT_MAX ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return 0;
	if (send(ends[1], data, size, MSG_NOSIGNAL) == (ssize_t)size &&
	    shutdown(ends[1], SHUT_WR) == 0)
		listen_to(ends[0]);
	else
		(void)close(ends[0]);
	(void)close(ends[1]);
	return 0;
}
