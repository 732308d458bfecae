/* Bytes that a handle of libhutch receives from its socket: any bytes, in two
 * pieces.  In any case pending calls are answered or end, messages can be read
 * to their last byte, and nothing else happens.  The first byte tells where the
 * input is divided. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/handle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void claim(int is_so)
{
	if (!is_so)
		abort();
}

static size_t sum(const char *bytes, size_t len)
{
	size_t total = 0;

	for (size_t i = 0; i < len; i++)
		total += (unsigned char)bytes[i];
	return total;
}

static void check(const struct hutch_message *m)
{
	claim(m->type >= HUTCH_ANSWER && m->type <= HUTCH_ENDED);
	claim(m->json && strlen(m->json) == m->json_len && m->json[m->json_len] == '\0');
	claim(!m->data_len || (m->data && m->data[m->data_len] == '\0'));
	claim(m->type == HUTCH_ENDED ? m->error.kind != HUTCH_OK : 1);
	(void)sum(m->data, m->data_len);
}

/* Takes all messages from the handle.  Returns -1 if the handle has ended. */
static int take_all(struct hutch *h)
{
	struct hutch_message *m;
	int got;

	while ((got = hutch_next(h, 0, &m, NULL)) == 1) {
		check(m);
		hutch_message_free(m);
	}
	return got;
}

static struct hutch *open_at(int fd)
{
	struct hutch *h = handle_new("box", &(struct hutch_how){ .size = 0 }, NULL);

	claim(h != NULL);
	h->socket = fd;
	h->stage = OPEN;
	claim(handle_watch(h, fd, NULL) == 0);
	return h;
}

static void say(int fd, const uint8_t *data, size_t size)
{
	while (size > 0) {
		const ssize_t n = send(fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n <= 0)
			return; /* the socket is closed, or its buffer full */
		data += n;
		size -= (size_t)n;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int ends[2];

	if (size < 1 || size > 65536)
		return 0;
	claim(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
	struct hutch *h = open_at(ends[0]);
	const size_t first = (size - 1) * data[0] / 255;
	const int64_t kept = hutch_info(h, HUTCH_WAIT, NULL);
	claim(kept == 2 && hutch_stats(h, NULL, NULL) == 3);
	say(ends[1], data + 1, first);
	(void)take_all(h);
	say(ends[1], data + 1 + first, size - 1 - first);
	(void)take_all(h);
	(void)close(ends[1]);
	struct hutch_message *m = NULL;
	if (hutch_wait(h, kept, -1, &m, NULL) == 0) {
		check(m);
		hutch_message_free(m);
	}
	while (take_all(h) == 0)
		;
	hutch_close(h);
	return 0;
}
