#include "gateway/route/asks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "egress/http_head.h"
#include "gateway/route/front.h"

#define ANSWER_MAX (4u << 20)
#define AGAIN_MS   200

static void dial(struct ask *a);

/* Notes that nothing more comes from this pod.  The caller must return: `done` frees all.
 */
static void finish(struct ask *a)
{
	struct asks *all = a->all;

	loop_stop(&all->front->loop, &a->again);
	if (a->watch.fd >= 0)
		loop_unwatch(&all->front->loop, &a->watch);
	own_close(&a->watch.fd);
	a->is_over = true;
	all->waiting--;
	if (all->waiting == 0 || (a->status && all->is_enough && all->is_enough(a)))
		all->done(all->context);
}

/* --- an answer ------------------------------------------------------------------ */

struct span ask_field(const struct ask *a, const char *name)
{
	const char *at = (const char *)buffer_data(&a->said), *end = at + a->body_at;
	const size_t len = strlen(name);

	while (at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		if (!stop)
			break;
		if ((size_t)(stop - at) > len + 1 && at[len] == ':' &&
		    !strncasecmp(at, name, len)) {
			const char *value = at + len + 1;
			while (value < stop && *value == ' ')
				value++;
			const char *last = stop > value && stop[-1] == '\r' ? stop - 1
									    : stop;
			return (struct span){ value, (size_t)(last - value) };
		}
		at = stop + 1;
	}
	return (struct span){ 0 };
}

struct span ask_body(const struct ask *a)
{
	return (struct span){ (const char *)buffer_data(&a->said) + a->body_at,
			      buffer_len(&a->said) - a->body_at };
}

/* Whether the answer is whole: hutch serve gives the length of all that is asked here. */
static bool is_whole(const struct ask *a)
{
	const struct span length = ask_field(a, "content-length"), body = ask_body(a);
	size_t want = 0;

	if (!length.at || length.len == 0 || length.len > 9)
		return false;
	for (size_t i = 0; i < length.len; i++) {
		if (length.at[i] < '0' || length.at[i] > '9')
			return false;
		want = want * 10 + (size_t)(length.at[i] - '0');
	}
	return want == body.len;
}

/* Reads the answer, which the pod has ended by closing. */
static void read_answer(struct ask *a)
{
	unsigned status;
	size_t len;

	if (http_answer_parse(buffer_data(&a->said), buffer_len(&a->said), &status,
			      &len) != HTTP_DONE)
		return;
	a->body_at = len;
	a->status = is_whole(a) ? status : 0;
}

static void on_pod(void *context, uint32_t events)
{
	struct ask *a = context;
	struct asks *all = a->all;
	const size_t left = buffer_len(&all->question) - a->sent;

	(void)events;
	if (left > 0) {
		const ssize_t n =
			write(a->watch.fd, buffer_data(&all->question) + a->sent, left);
		if (n < 0 && errno != EAGAIN) {
			finish(a);
			return;
		}
		a->sent += n > 0 ? (size_t)n : 0;
		if (a->sent == buffer_len(&all->question))
			(void)loop_watch(&all->front->loop, &a->watch, EPOLLIN, NULL);
		return;
	}
	const ssize_t n = read(a->watch.fd, all->front->scratch, FRONT_SCRATCH);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0 && buffer_append(&a->said, all->front->scratch, (size_t)n))
		return;
	if (n == 0)
		read_answer(a);
	finish(a);
}

/* --- the question --------------------------------------------------------------- */

static void on_again(void *context)
{
	dial(context);
}

static void on_dialed(void *context, int fd)
{
	struct ask *a = context;
	struct front *f = a->all->front;

	a->dial = NULL;
	f->is_down[a->pod] = fd < 0;
	a->watch = (struct watch){ fd, a, on_pod };
	if (fd >= 0 && loop_watch(&f->loop, &a->watch, EPOLLOUT, NULL) == 0)
		return;
	own_close(&a->watch.fd);
	if (a->all->is_patient)
		loop_start(&f->loop, &a->again, AGAIN_MS);
	else
		finish(a);
}

static void dial(struct ask *a)
{
	a->dial = dials_begin(&a->all->front->dials, a->pod, clock_ms(), a, on_dialed);
}

struct asks *asks_begin(struct front *f, const struct request *r, struct span target,
			bool is_patient, void *context,
			bool (*is_enough)(const struct ask *a),
			void (*done)(void *context))
{
	struct asks *all = calloc(1, sizeof(*all));

	if (!all || !(all->items = calloc(f->pods->count, sizeof(*all->items))))
		abort();
	all->front = f;
	all->count = all->waiting = f->pods->count;
	all->is_patient = is_patient;
	all->context = context;
	all->is_enough = is_enough;
	all->done = done;
	buffer_init(&all->question, HTTP_HEAD_MAX + 1024);
	request_write_question(r, target, &all->question);
	f->asks++;
	for (size_t i = 0; i < all->count; i++) {
		struct ask *a = &all->items[i];

		*a = (struct ask){ .all = all, .pod = (int)i, .watch = { .fd = -1 } };
		a->again = (struct timer){ .context = a, .expired = on_again };
		buffer_init(&a->said, ANSWER_MAX);
		dial(a);
	}
	return all;
}

void asks_end(struct asks *all)
{
	if (!all)
		return;
	for (size_t i = 0; i < all->count; i++) {
		struct ask *a = &all->items[i];

		dials_cancel(a->dial);
		loop_stop(&all->front->loop, &a->again);
		if (a->watch.fd >= 0)
			loop_unwatch(&all->front->loop, &a->watch);
		own_close(&a->watch.fd);
		buffer_done(&a->said);
	}
	all->front->asks--;
	buffer_done(&all->question);
	free(all->items);
	free(all);
}
