/* Answers of a pool's keeper to hutch_take(): any bytes, in pieces, with
 * descriptors beside them, and then answers of the sandbox that it may have
 * handed out.  In any case the handle becomes open or ends, gives its reason in
 * words, and leaves no descriptor open.
 *
 * A piece ends with a byte of 1, and begins with one that describes it. */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd_pass.h"
#include "base/own.h"
#include "base/utf8.h"
#include "lib/handle.h"
#include "lib/opening.h"

#define FDS(head)  ((head)&3u)	      /* number of descriptors with the piece */
#define KIND(head) ((head) >> 2 & 3u) /* kind of the descriptors: enum kind */
#define WAITS	   16u		      /* sent at once with the next piece */
#define IS_SAID	   32u		      /* sent by the sandbox */

#define SAID_MAX (16u << 10) /* the value in lib/pool_take.c */
#define FD_MAX	 64

enum kind { SANDBOX, FILE_OF_NONE, PIPE, NOT_CONNECTED, KIND_COUNT };

struct scene {
	int keeper, sandbox; /* the ends that send */
	int passed[KIND_COUNT];
	bool has_said; /* whether the sandbox has sent anything */
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void claim(int is_so)
{
	if (!is_so)
		abort();
}

static int count_fds(void)
{
	int count = 0;

	for (int fd = 0; fd < FD_MAX; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* --- the other ends --------------------------------------------------------- */

static int make_pair(int *ret_ours)
{
	int ends[2];

	claim(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) ==
	      0);
	*ret_ours = ends[0];
	return ends[1];
}

/* Makes the connection to the keeper. */
static int open_scene(struct scene *x)
{
	int ends[2];

	*x = (struct scene){ .has_said = false };
	x->passed[SANDBOX] = make_pair(&x->sandbox);
	x->passed[FILE_OF_NONE] = open("/dev/null", O_RDWR | O_CLOEXEC);
	x->passed[NOT_CONNECTED] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	claim(pipe2(ends, O_CLOEXEC) == 0);
	x->passed[PIPE] = ends[0];
	(void)close(ends[1]);
	return make_pair(&x->keeper);
}

static void close_scene(struct scene *x)
{
	own_close(&x->keeper);
	own_close(&x->sandbox);
	for (size_t i = 0; i < KIND_COUNT; i++)
		own_close(&x->passed[i]);
}

static void say(struct scene *x, unsigned head, const uint8_t *data, size_t size)
{
	const bool is_sandbox = head & IS_SAID;
	int fds[3];

	for (size_t i = 0; i < FDS(head); i++)
		fds[i] = x->passed[KIND(head)];
	/* This may fail: the other end may be closed, or its socket full. */
	const ssize_t n = fd_pass_send(is_sandbox ? x->sandbox : x->keeper, data, size,
				       fds, FDS(head));
	x->has_said = x->has_said || (is_sandbox && n > 0);
}

/* --- the handle ------------------------------------------------------------- */

static void check_words(const struct hutch_error *e)
{
	claim(e->kind > HUTCH_OK && e->kind <= HUTCH_FORKED && e->exit_code > 0);
	claim(e->message[0] != '\0');
	claim(utf8_is_valid((const uint8_t *)e->message, strlen(e->message), false));
	claim(utf8_is_valid((const uint8_t *)e->remedy, strlen(e->remedy), false));
}

static bool is_held_well(int fd)
{
	return fd < 0 || fcntl(fd, F_GETFD) == FD_CLOEXEC;
}

static void check(const struct scene *x, const struct hutch *h)
{
	claim(h->stage >= AWAITING_POOL); /* no program was started */
	claim(registry_is_name(h->name));
	claim(is_held_well(h->socket) && is_held_well(h->handed));
	claim(h->stage == AWAITING_POOL || h->handed < 0);
	claim(h->stage != AWAITING_POOL || h->in.room == SAID_MAX);
	claim(h->stage != OPEN || x->has_said);
	if (h->stage == OVER)
		check_words(&h->why);
	else
		claim(h->socket >= 0);
}

/* Takes all messages.  Returns -1 if the handle has ended. */
static int take_all(const struct scene *x, struct hutch *h)
{
	struct hutch_error e;
	struct hutch_message *m;
	int got;

	while ((got = hutch_next(h, 0, &m, &e)) == 1)
		hutch_message_free(m);
	check(x, h);
	if (got < 0)
		check_words(&e);
	return got;
}

static void talk(struct scene *x, struct hutch *h, const uint8_t *data, size_t size)
{
	while (size > 0) {
		const uint8_t *end = memchr(data, 1, size);
		const size_t len = end ? (size_t)(end - data) : size;
		const unsigned head = len ? data[0] : WAITS;
		if (len > 1)
			say(x, head, data + 1, len - 1);
		if (!(head & WAITS))
			(void)take_all(x, h);
		data += end ? len + 1 : len;
		size -= end ? len + 1 : len;
	}
	(void)take_all(x, h);
}

/* The call that was made right after the take is answered, or ends with a reason. */
static void end_call(struct hutch *h, int64_t call)
{
	struct hutch_error e;
	struct hutch_message *m;

	if (hutch_wait(h, call, 0, &m, &e) == 0)
		hutch_message_free(m);
	else
		check_words(&e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const int before = count_fds();
	struct hutch_error e;
	struct scene x;

	if (size > 65536)
		return 0;
	int asked = open_scene(&x);
	struct hutch *h = handle_new("pond", &(struct hutch_how){ .size = 0 }, &e);
	claim(h && opening_ask(h, &asked, &e) == 0 && asked < 0);
	const int64_t call = hutch_info(h, HUTCH_WAIT, &e);
	claim(call > 0);
	talk(&x, h, data, size);
	close_scene(&x);
	for (int turns = 0; take_all(&x, h) == 0; turns++)
		claim(turns < 4); /* both sockets were closed above */
	claim(hutch_ready(h, 0, &e) == -1);
	check_words(&e);
	end_call(h, call);
	hutch_close(h);
	claim(count_fds() == before);
	return 0;
}
