/* requests -- requests as bytes, for tests that break a rule with them.
 *
 * supervisor_ask() and its like send only valid requests.  With these builders
 * a test has the frame itself: it can change it, cut it, and send it with the
 * wrong descriptors.  Include it behind cmocka.h. */
#pragma once
#include <signal.h>
#include <unistd.h>

#include "base/err.h"
#include "base/frame.h"
#include "tests/unit/supervisor.h"

static char *true_argv[] = { TEXT("/bin/true"), NULL };
static char *sleep_argv[] = { TEXT("/bin/sleep"), TEXT("1000"), NULL };
static char *no_env[] = { NULL };

/* Each of these functions appends one frame about command 1. */

static inline void put_exec_of(struct buffer *b, uint32_t id, uint32_t flags, char **argv)
{
	struct exec x = { .flags = flags, .uid = getuid(), .gid = getgid(), .cwd = "/",
			  .argv = argv, .env = no_env };
	struct err e;

	assert_int_equal(message_put_exec(b, id, &x, &e), 0);
}

static inline void put_exec(struct buffer *b)
{
	put_exec_of(b, 1, 0, true_argv);
}

static inline void put_signal(struct buffer *b)
{
	struct err e;

	assert_int_equal(message_put_signal(b, 1, SIGTERM, &e), 0);
}

static inline void put_resize(struct buffer *b)
{
	struct err e;

	assert_int_equal(message_put_resize(b, 1, 1, 1, &e), 0);
}

static inline void put_stop(struct buffer *b)
{
	struct err e;

	assert_int_equal(message_put_stop(b, 0, &e), 0);
}

/* Sends only the header, after which the executor must end. */
static inline void put_one_byte_too_long(struct buffer *b)
{
	const uint32_t len = FRAME_MAX_TO_EXECUTOR + 1;
	const uint8_t header[FRAME_HEADER] = { (uint8_t)len, (uint8_t)(len >> 8),
					       (uint8_t)(len >> 16), (uint8_t)(len >> 24),
					       MSG_EXEC, 0, 0, 0, 1 };

	assert_true(buffer_append(b, header, sizeof(header)));
}

/* Sends the frame that `put` writes, with `count` descriptors, at most 253
 * (SCM_MAX_FD). */
static inline void send_one(struct supervisor *s, void (*put)(struct buffer *),
			    unsigned count)
{
	struct buffer b;
	int fds[253];

	for (unsigned i = 0; i < count; i++)
		fds[i] = STDERR_FILENO;
	buffer_init(&b, FRAME_HEADER + FRAME_MAX_TO_EXECUTOR);
	put(&b);
	supervisor_send(s, &b, fds, count);
	buffer_done(&b);
}
