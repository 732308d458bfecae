/* channel: the supervisor holds bytes from the executor in bounded memory, and
 * accepts no descriptor. */
#include "sandbox/launch/channel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "protocol/message.h"
#include "tests/unit/scene.h"
#include "tests/unit/words.h"

struct pair {
	struct channel ours;
	int theirs;
};

static int pair_setup(void **state)
{
	struct pair *p = calloc(1, sizeof(*p));
	int ends[2];

	if (!p || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	channel_init(&p->ours, ends[0]);
	p->theirs = ends[1];
	*state = p;
	return 0;
}

static int pair_teardown(void **state)
{
	struct pair *p = *state;

	own_close(&p->ours.fd);
	own_close(&p->theirs);
	channel_done(&p->ours);
	free(p);
	return 0;
}

static void put(struct pair *p, const void *bytes, size_t len)
{
	assert_int_equal(io_write_all(p->theirs, bytes, len), 0);
}

static void put_header(struct pair *p, uint32_t len)
{
	const uint8_t head[FRAME_HEADER] = { (uint8_t)len, (uint8_t)(len >> 8),
					     (uint8_t)(len >> 16), (uint8_t)(len >> 24),
					     1 };

	put(p, head, sizeof(head));
}

static void test_frames_come_whole(void **state)
{
	static const char words[] = WORD_HELLO WORD_STARTED;
	struct pair *p = *state;
	struct frame f;
	struct err e;
	int whole = 0;

	for (size_t i = 0; i < sizeof(words) - 1; i++) {
		put(p, words + i, 1);
		assert_int_equal(channel_fill(&p->ours, &e), CHANNEL_READ);
		int got = channel_next(&p->ours, &f, &e);
		assert_true(got == 0 || got == 1);
		if (!got)
			continue;
		assert_int_equal(f.type, whole ? MSG_STARTED : MSG_HELLO);
		channel_took(&p->ours, &f);
		whole++;
	}
	assert_int_equal(whole, 2);
	assert_int_equal(channel_next(&p->ours, &f, &e), 0);
}

static void test_nothing_to_read_is_no_end(void **state)
{
	struct pair *p = *state;
	struct frame f;
	struct err e;

	assert_int_equal(channel_fill(&p->ours, &e), CHANNEL_DRY);
	assert_int_equal(channel_next(&p->ours, &f, &e), 0);
	assert_int_equal(channel_events(&p->ours), POLLIN);
}

static void test_the_end_is_told_after_what_came_before(void **state)
{
	struct pair *p = *state;
	struct frame f;
	struct err e;

	put(p, WORD_HELLO "\5\0\0", sizeof(WORD_HELLO) + 2);
	own_close(&p->theirs);
	assert_int_equal(channel_fill(&p->ours, &e), CHANNEL_READ);
	assert_int_equal(channel_next(&p->ours, &f, &e), 1);
	channel_took(&p->ours, &f);
	assert_int_equal(channel_fill(&p->ours, &e), CHANNEL_CLOSED);
	assert_int_equal(channel_next(&p->ours, &f, &e), 0);
}

static void fill_until(struct pair *p, size_t len)
{
	struct err e;

	for (size_t have = 0; have < len; have = buffer_len(&p->ours.in))
		assert_int_equal(channel_fill(&p->ours, &e), CHANNEL_READ);
}

static void test_a_body_of_64_kib_is_the_largest(void **state)
{
	static const uint8_t body[FRAME_MAX_FROM_EXECUTOR];
	struct pair *p = *state;
	struct frame f;
	struct err e;

	put_header(p, FRAME_MAX_FROM_EXECUTOR);
	put(p, body, sizeof(body));
	fill_until(p, FRAME_HEADER + sizeof(body));
	assert_int_equal(channel_next(&p->ours, &f, &e), 1);
	assert_int_equal(f.len, FRAME_MAX_FROM_EXECUTOR);
	channel_took(&p->ours, &f);
	assert_int_equal(buffer_len(&p->ours.in), 0);
}

/* A header with such a length is refused at once, without waiting for the body. */
static void test_a_larger_body_is_refused_at_once(void **state)
{
	static const uint32_t sizes[] = { FRAME_MAX_FROM_EXECUTOR + 1,
					  FRAME_MAX_TO_EXECUTOR, 0x7fffffff, 0x80000000,
					  0xffffffff };
	struct pair *p = *state;

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct frame f;
		struct err e = { 0 };
		put_header(p, sizes[i]);
		assert_int_equal(channel_fill(&p->ours, &e), CHANNEL_READ);
		assert_int_equal(channel_next(&p->ours, &f, &e), -1);
		assert_int_equal(e.kind, ERR_PROTOCOL);
		buffer_consume(&p->ours.in, FRAME_HEADER);
	}
}

/* The peer writes without end while the supervisor takes no frames: the supervisor
 * stops reading, so its memory is bounded. */
static void test_a_flood_ends_in_bounded_memory(void **state)
{
	static const uint8_t noise[4096];
	struct pair *p = *state;
	struct err e = { 0 };
	size_t sent = 0;

	while (sent < 16u << 20) {
		put(p, noise, sizeof(noise));
		sent += sizeof(noise);
		if (channel_fill(&p->ours, &e) < 0)
			break;
	}
	assert_int_equal(e.kind, ERR_PROTOCOL);
	assert_true(sent <= 2 * (FRAME_MAX_FROM_EXECUTOR + FRAME_HEADER) + sizeof(noise));
	assert_true(p->ours.in.room <= 256u << 10);
}

static void send_control(int fd, int type, const void *data, size_t len)
{
	union {
		char space[CMSG_SPACE(253 * sizeof(int))];
		struct cmsghdr align;
	} control = { .align = { CMSG_LEN(len), SOL_SOCKET, type } };
	struct iovec bytes = { (void *)(uintptr_t)WORD_HELLO, sizeof(WORD_HELLO) - 1 };
	struct msghdr m = { .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &control,
			    .msg_controllen = CMSG_SPACE(len) };

	memcpy(CMSG_DATA(&control.align), data, len);
	assert_int_equal(sendmsg(fd, &m, 0), sizeof(WORD_HELLO) - 1);
}

static void expect_hello(struct pair *p)
{
	struct frame f;
	struct err e;

	assert_int_equal(channel_fill(&p->ours, &e), CHANNEL_READ);
	assert_int_equal(channel_next(&p->ours, &f, &e), 1);
	assert_int_equal(f.type, MSG_HELLO);
	channel_took(&p->ours, &f);
}

static void test_no_descriptor_comes_in(void **state)
{
	struct pair *p = *state;
	unsigned before = scene_open_fds();
	int many[253];

	for (size_t i = 0; i < ARRAY_LEN(many); i++)
		many[i] = p->theirs;
	for (unsigned count = 1; count <= ARRAY_LEN(many); count += 63) {
		send_control(p->theirs, SCM_RIGHTS, many, count * sizeof(int));
		expect_hello(p);
		assert_int_equal(scene_open_fds(), before);
	}
}

/* Credentials identify the peer, but the supervisor does not use them. */
static void test_credentials_change_nothing(void **state)
{
	struct pair *p = *state;
	struct ucred peer = { getpid(), getuid(), getgid() };

	if (getuid() == 0)
		peer = (struct ucred){ 1, 0, 0 }; /* forged: only root may */
	send_control(p->theirs, SCM_CREDENTIALS, &peer, sizeof(peer));
	expect_hello(p);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, pair_setup, pair_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_frames_come_whole),
		TEST(test_nothing_to_read_is_no_end),
		TEST(test_the_end_is_told_after_what_came_before),
		TEST(test_a_body_of_64_kib_is_the_largest),
		TEST(test_a_larger_body_is_refused_at_once),
		TEST(test_a_flood_ends_in_bounded_memory),
		TEST(test_no_descriptor_comes_in),
		TEST(test_credentials_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
