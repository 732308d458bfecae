#include "gateway/box.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "gateway/serve.h"

#define SWEEP_MS    1000    /* how often idle and ended sandboxes are looked for */
#define TURN	    4 /* messages of one sandbox, of 64 KiB each, until others have their turn */
#define REMEMBER_MS 3600000 /* how long one that has ended by itself is known */

struct box_wait {
	struct box_wait *next;
	void *context;
	box_ready *ready;
	bool wants_running;
};

struct box_stream {
	struct box_stream *next;
	int64_t process;
	void *context;
	box_answer *take; /* NULL: it was taken off */
};

struct box_tag {
	struct box_tag *next;
	struct box *box;
	void *context;
	box_answer *done;
};

static const char *const kinds[BOX_KINDS] = {
	[BOX_ACTIONS] = "actions", [BOX_MAIN] = "main", [BOX_PLAIN] = "plain"
};

/* --- finding ------------------------------------------------------------------ */

struct box *box_by_id(struct boxes *all, const char *id, size_t len)
{
	for (struct box *b = all->first; b; b = b->next)
		if (strlen(b->id) == len && !memcmp(b->id, id, len) && !b->is_removed)
			return b;
	return NULL;
}

struct box *box_by_session(struct boxes *all, const char *session)
{
	for (struct box *b = all->first; b; b = b->next)
		if (!strcmp(b->session, session) && b->state != BOX_ENDED &&
		    !b->is_removed)
			return b;
	return NULL;
}

size_t boxes_alive(const struct boxes *all)
{
	size_t count = 0;

	for (const struct box *b = all->first; b; b = b->next)
		count += b->state != BOX_FAILED && b->state != BOX_ENDED;
	return count;
}

static struct box *box_new(struct boxes *all, const char *id, enum box_kind kind,
			   const char *session)
{
	struct box *b = all->count < BOXES_MAX ? calloc(1, sizeof(*b)) : NULL;

	if (!b)
		return NULL;
	b->all = all;
	b->kind = kind;
	b->used_ms = clock_ms();
	memcpy(b->id, id, strlen(id) + 1);
	memcpy(b->session, session, strlen(session) + 1);
	b->next = all->first;
	if (!all->first)
		loop_start(all->loop, &all->sweep, SWEEP_MS);
	all->first = b;
	all->count++;
	return b;
}

void box_hold(struct box *b)
{
	b->holds++;
}

void box_release(struct box *b)
{
	b->holds--;
}

/* --- waiting ------------------------------------------------------------------ */

static void wait_for(struct box *b, bool wants_running, void *context, box_ready *ready)
{
	struct box_wait *w = calloc(1, sizeof(*w));

	if (!w)
		abort(); /* callers have nothing to answer with, either */
	*w = (struct box_wait){ b->waits, context, ready, wants_running };
	b->waits = w;
}

/* Calls those that wait.  Each is taken off first: it may wait again, or remove the box. */
static void wake(struct box *b, const struct hutch_error *why)
{
	struct box_wait *list = b->waits;

	b->waits = NULL;
	while (list) {
		struct box_wait w = *list;

		free(list);
		list = w.next;
		if (!why && w.wants_running && b->state == BOX_PAUSED)
			wait_for(b, true, w.context, w.ready);
		else
			w.ready(w.context, b, why);
	}
}

/* --- the connection ----------------------------------------------------------- */

static void take_off(struct box_tag *t)
{
	struct box_tag **at = &t->box->tags;

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
}

static void answer(struct box_tag *t, const struct hutch_message *m)
{
	take_off(t);
	t->done(t->context, m);
	t->box->busy--;
	t->box->used_ms = clock_ms();
	free(t);
}

/* Closes the connection.  Calls that have no answer yet get this one, because none comes now. */
static void disconnect(struct box *b, const struct hutch_error *why)
{
	const struct hutch_message m = {
		.type = HUTCH_ANSWER, .error = *why, .json = "null", .json_len = 4
	};
	struct hutch *h = b->handle;

	if (!h)
		return;
	loop_unwatch(b->all->loop, &b->watch);
	b->handle = NULL;
	hutch_close(h);
	while (b->tags)
		answer(b->tags, &m);
}

static void on_answer(const struct hutch_message *m)
{
	if (m->tag)
		answer(m->tag, m);
}

/* Frees those that were taken off. */
static void clear_streams(struct box *b)
{
	for (struct box_stream **at = &b->streams; *at;) {
		struct box_stream *s = *at;

		if (s->take) {
			at = &s->next;
			continue;
		}
		*at = s->next;
		free(s);
	}
}

/* Hands a message to the streams of its process, or to all (0).  Each of them may take off
 * itself and others. */
static void deliver(struct box *b, int64_t process, const struct hutch_message *m)
{
	b->deliveries++;
	for (struct box_stream *s = b->streams; s; s = s->next)
		if (s->take && (process == 0 || s->process == process))
			s->take(s->context, m);
	if (--b->deliveries == 0)
		clear_streams(b);
}

static void on_end(struct box *b, const struct hutch_error *why)
{
	b->state = BOX_ENDED;
	b->why = *why;
	const struct hutch_message m = { .type = HUTCH_ENDED, .error = *why };

	deliver(b, 0, &m);
	disconnect(b, &b->why);
	wake(b, &b->why);
}

static void on_handle(void *context, uint32_t events)
{
	struct box *b = context;
	struct hutch_message *m = NULL;
	struct hutch_error e;

	(void)events;
	/* A process that writes without end leaves the others their turn. */
	for (int i = 0; i < TURN && b->handle && hutch_next(b->handle, 0, &m, &e) > 0;
	     i++) {
		if (m->type == HUTCH_ANSWER)
			on_answer(m);
		else if (m->type == HUTCH_OUTPUT || m->type == HUTCH_EVENT)
			deliver(b, m->process, m);
		else if (m->type == HUTCH_ENDED)
			on_end(b, &m->error);
		hutch_message_free(m);
	}
}

void *box_tag(struct box *b, void *context, box_answer *done)
{
	struct box_tag *t = calloc(1, sizeof(*t));

	if (!t)
		abort();
	*t = (struct box_tag){ b->tags, b, context, done };
	b->tags = t;
	b->busy++;
	return t;
}

void box_untag(void *tag)
{
	struct box_tag *t = tag;

	take_off(t);
	t->box->busy--;
	free(t);
}

struct box_stream *box_follow(struct box *b, int64_t process, void *context,
			      box_answer *take)
{
	struct box_stream *s = calloc(1, sizeof(*s));

	if (!s)
		abort();
	*s = (struct box_stream){ b->streams, process, context, take };
	b->streams = s;
	b->busy++;
	return s;
}

void box_unfollow(struct box *b, struct box_stream *s)
{
	s->take = NULL;
	b->busy--;
	b->used_ms = clock_ms();
	if (b->deliveries == 0)
		clear_streams(b);
}

/* --- opening ------------------------------------------------------------------ */

static void fail(struct box *b, enum box_state state, int kind, const char *message)
{
	b->state = state;
	b->why = (struct hutch_error){ .kind = kind };
	strncat(b->why.message, message, sizeof(b->why.message) - 1);
	disconnect(b, &b->why);
	wake(b, &b->why);
}

static void on_unpaused(void *context, const struct hutch_message *m)
{
	struct box *b = context;

	if (m->error.kind == HUTCH_OK || m->error.kind == HUTCH_BUSY)
		b->state = BOX_RUNNING; /* busy: it runs already */
	wake(b,
	     m->error.kind == HUTCH_OK || m->error.kind == HUTCH_BUSY ? NULL : &m->error);
}

static bool has_waiter_for_running(const struct box *b)
{
	for (const struct box_wait *w = b->waits; w; w = w->next)
		if (w->wants_running)
			return true;
	return false;
}

static void unpause(struct box *b)
{
	struct hutch_error e;
	void *tag = box_tag(b, b, on_unpaused);

	if (hutch_unpause(b->handle, 0, tag, &e) >= 0)
		return;
	box_untag(tag);
	wake(b, &e);
}

static void on_info(void *context, const struct hutch_message *m)
{
	struct box *b = context;

	b->is_opening = false;
	if (m->error.kind != HUTCH_OK) {
		if (b->state != BOX_ENDED)
			fail(b, BOX_FAILED, m->error.kind, m->error.message);
		return;
	}
	free(b->info);
	b->info = strndup(m->json, m->json_len);
	AUTO_FREE char *state = hutch_json_string(m->json, "state");
	b->state = state && !strcmp(state, "paused") ? BOX_PAUSED : BOX_RUNNING;
	wake(b, NULL);
	if (b->state == BOX_PAUSED && has_waiter_for_running(b))
		unpause(b);
}

static void ask_info(struct box *b)
{
	struct hutch_error e;
	void *tag = box_tag(b, b, on_info);

	if (hutch_info(b->handle, tag, &e) >= 0)
		return;
	box_untag(tag);
	b->is_opening = false;
	fail(b, BOX_FAILED, e.kind, e.message);
}

/* The state of a sandbox to which there is no connection.  A living sandbox is asked again where
 * only the moment was bad. */
static enum box_state state_without(const struct box *b, const struct spawn_answer *a)
{
	const bool is_for_now = !a->kind || !strcmp(a->kind, "timeout") ||
				!strcmp(a->kind, "limit");

	if (b->state == BOX_STARTING)
		return BOX_FAILED;
	if (is_for_now)
		return b->state;
	return !strcmp(a->kind, "not_found") ? BOX_ENDED : BOX_FAILED;
}

/* It stays stopped, and the next request tries again: its files are there. */
static void refuse_start(struct box *b, const struct spawn_answer *a)
{
	struct hutch_error e = { .kind = spawn_answer_kind(a) };

	strncat(e.message, a->message ? a->message : "", sizeof(e.message) - 1);
	b->is_opening = false;
	wake(b, &e);
}

static void on_connection(void *context, struct spawn_answer *a)
{
	struct box *b = context;
	struct hutch_error e;
	struct err err;

	if (b->is_removed) {
		/* It was to end before it was there, and so could not. */
		b->is_opening = false;
		if (!a->kind)
			box_remove(b, NULL, NULL);
		return;
	}
	if (b->is_stopped && a->kind) {
		refuse_start(b, a);
		return;
	}
	if (a->kind || a->fd < 0) {
		b->is_opening = false;
		fail(b, state_without(b, a), spawn_answer_kind(a),
		     a->message ? a->message : "the spawner gave no connection");
		return;
	}
	if (hutch_adopt(b->id, a->fd, NULL, &b->handle, &e) < 0) {
		b->is_opening = false;
		fail(b, BOX_FAILED, e.kind, e.message);
		return;
	}
	a->fd = -1;
	b->is_stopped = false;
	b->watch = (struct watch){ hutch_fd(b->handle, &e), b, on_handle };
	if (b->watch.fd < 0 || loop_watch(b->all->loop, &b->watch, EPOLLIN, &err) < 0) {
		b->is_opening = false;
		fail(b, BOX_FAILED, HUTCH_SYSTEM, "the connection cannot be watched");
		return;
	}
	ask_info(b);
}

static void open_it(struct box *b)
{
	struct order o = { .kind = b->is_stopped ? ORDER_START : ORDER_ATTACH,
			   .name = text_copy(b->id) };

	b->is_opening = true;
	spawn_link_ask(b->all->link, &o, b, on_connection);
	order_done(&o);
}

static void use(struct box *b, bool wants_running, void *context, box_ready *ready)
{
	b->used_ms = clock_ms();
	if (b->state == BOX_FAILED || b->state == BOX_ENDED) {
		ready(context, b, &b->why);
		return;
	}
	if (b->handle && !b->is_opening && !(wants_running && b->state == BOX_PAUSED)) {
		ready(context, b, NULL);
		return;
	}
	const bool is_first = !has_waiter_for_running(b);
	wait_for(b, wants_running, context, ready);
	if (!b->handle && !b->is_opening)
		open_it(b);
	else if (b->handle && !b->is_opening && is_first)
		unpause(b);
}

void box_use(struct box *b, void *context, box_ready *ready)
{
	use(b, true, context, ready);
}

void box_reach(struct box *b, void *context, box_ready *ready)
{
	use(b, false, context, ready);
}

struct box *box_create(struct boxes *all, enum box_kind kind, const char *session,
		       struct order *o)
{
	const uint64_t most = all->serve->most_sandboxes;
	char id[BOX_ID_MAX + 1], digits[BOX_ID_DIGITS + 1];

	if (most > 0 && boxes_alive(all) >= most)
		return NULL;
	keys_random(digits, BOX_ID_DIGITS);
	box_id_make(all->serve->pod, digits, id);
	struct box *b = box_new(all, id, kind, session);
	if (!b)
		return NULL;
	o->kind = ORDER_CREATE;
	o->name = text_copy(id);
	list_addf(&o->labels, "kind=%s", kinds[kind]);
	list_addf(&o->labels, "session=%s", session);
	if (kind == BOX_MAIN) {
		/* The names that OpenHands' agent server takes its key from. */
		char key[KEYS_BOX];
		box_key(b, key);
		list_addf(&o->env, "SESSION_API_KEY=%s", key);
		list_addf(&o->env, "OH_SESSION_API_KEYS_0=%s", key);
	}
	b->is_opening = true;
	spawn_link_ask(all->link, o, b, on_connection);
	return b;
}

/* --- pause, resume, end ------------------------------------------------------- */

struct steer {
	void *context;
	box_ready *done;
	struct box *box;
};

static struct steer *steer_new(struct box *b, void *context, box_ready *done)
{
	struct steer *s = calloc(1, sizeof(*s));

	if (!s)
		abort();
	*s = (struct steer){ context, done, b };
	box_hold(b);
	return s;
}

static void steer_end(struct steer *s, const struct hutch_error *why)
{
	if (s->done)
		s->done(s->context, s->box, why);
	box_release(s->box);
	free(s);
}

static void on_paused(void *context, const struct hutch_message *m)
{
	struct steer *s = context;
	const bool is_ok = m->error.kind == HUTCH_OK || s->box->state == BOX_PAUSED;

	if (m->error.kind == HUTCH_OK)
		s->box->state = BOX_PAUSED;
	steer_end(s, is_ok ? NULL : &m->error);
}

static void pause_now(void *context, struct box *b, const struct hutch_error *why)
{
	struct steer *s = context;
	struct hutch_error e = { 0 };

	if (!why && b->state != BOX_PAUSED) {
		void *tag = box_tag(b, s, on_paused);
		if (hutch_pause(b->handle, tag, &e) >= 0)
			return;
		box_untag(tag);
		why = &e;
	}
	steer_end(s, why);
}

void box_pause(struct box *b, void *context, box_ready *done)
{
	if (b->is_stopped && !b->is_opening) {
		if (done)
			done(context, b, NULL);
		return;
	}
	box_reach(b, steer_new(b, context, done), pause_now);
}

static void on_epoch(void *context, struct spawn_answer *a)
{
	struct steer *s = context;
	struct hutch_error e = { .kind = HUTCH_SYSTEM };
	uint64_t number = 0;

	if (a->kind || json_uint(&a->said, &number, NULL) < 0) {
		strncat(e.message, a->kind ? a->message : "a number was expected",
			sizeof(e.message) - 1);
		steer_end(s, &e);
		return;
	}
	s->box->epoch = (unsigned)number;
	box_use(s->box, s->context, s->done);
	s->done = NULL;
	steer_end(s, NULL);
}

void box_resume(struct box *b, void *context, box_ready *done)
{
	struct order o = { .kind = ORDER_RESUMED, .name = text_copy(b->id) };

	/* A main process has its key in its environment, and keeps it. */
	if (b->state == BOX_PAUSED && b->kind != BOX_MAIN)
		spawn_link_ask(b->all->link, &o, steer_new(b, context, done), on_epoch);
	else
		box_use(b, context, done);
	order_done(&o);
}

static void sweep_soon(struct boxes *all)
{
	loop_start(all->loop, &all->sweep, 0);
}

static void forget(struct box *b)
{
	struct boxes *all = b->all;

	for (struct box **at = &all->first; *at; at = &(*at)->next) {
		if (*at != b)
			continue;
		*at = b->next;
		break;
	}
	all->count--;
	disconnect(b, &b->why);
	if (b->extra)
		b->extra_free(b->extra);
	free(b->info);
	free(b);
}

static void on_removed(void *context, struct spawn_answer *a);

static void remove_by(struct steer *s)
{
	struct order o = { .kind = ORDER_REMOVE, .name = text_copy(s->box->id) };

	spawn_link_ask(s->box->all->link, &o, s, on_removed);
	order_done(&o);
}

static void on_removed(void *context, struct spawn_answer *a)
{
	struct steer *s = context;
	struct hutch_error e = { .kind = HUTCH_SYSTEM };
	struct box *b = s->box;
	const bool is_absent = a->kind && !strcmp(a->kind, "not_found");

	if (is_absent && b->handle) { /* it came to life in between */
		remove_by(s);
		return;
	}
	if (a->kind && !is_absent) {
		strncat(e.message, a->message, sizeof(e.message) - 1);
		steer_end(s, &e);
		return;
	}
	/* The handle tells the end itself, behind the answers to calls that are under way. */
	if (b->state != BOX_ENDED && !b->handle) {
		const struct hutch_error gone = { .kind = HUTCH_DISCONNECTED,
						  .message = "the sandbox was ended" };
		on_end(b, &gone);
	}
	b->is_removed = true; /* also one that had ended before */
	sweep_soon(b->all);
	steer_end(s, NULL);
}

void box_remove(struct box *b, void *context, box_ready *done)
{
	remove_by(steer_new(b, context, done));
}

void box_drop(struct box *b)
{
	b->state = BOX_ENDED;
	b->is_removed = true;
	sweep_soon(b->all);
}

/* --- all ---------------------------------------------------------------------- */

/* Whether nothing can use it any more: it was removed, or it ended so long ago that no client
 * asks for it. */
static bool is_over(const struct box *b, int64_t now)
{
	return b->state == BOX_ENDED && b->busy == 0 && !b->streams && !b->waits &&
	       !b->is_opening && b->holds == 0 &&
	       (b->is_removed || now - b->used_ms > REMEMBER_MS);
}

static void sweep(void *context)
{
	struct boxes *all = context;
	const int64_t now = clock_ms(), idle_ms = (int64_t)all->serve->idle_ms;

	for (struct box *b = all->first, *next; b; b = next) {
		next = b->next;
		if (is_over(b, now))
			forget(b);
		else if (idle_ms > 0 && b->state == BOX_RUNNING && b->busy == 0 &&
			 now - b->used_ms >= idle_ms)
			box_pause(b, NULL, NULL);
	}
	if (all->first)
		loop_start(all->loop, &all->sweep, SWEEP_MS);
}

void boxes_init(struct boxes *all, const struct serve *s, struct loop *l,
		struct spawn_link *link)
{
	*all = (struct boxes){ .serve = s, .loop = l, .link = link };
	all->sweep = (struct timer){ .context = all, .expired = sweep };
}

struct find {
	struct boxes *all;
	void *context;
	void (*done)(void *context);
};

/* Whether the state, as `hutch ps` says it, is that of a sandbox that can be started again. */
static bool is_kept_end(const char *state)
{
	static const char end[] = ", kept";
	const size_t len = strlen(state), most = sizeof(end) - 1;

	return !strncmp(state, "ended", 5) && len > most &&
	       !strcmp(state + len - most, end);
}

/* Takes one line: name, state, kind, session, epoch. */
static void add_line(struct boxes *all, char *line)
{
	char *fields[5];
	enum box_kind kind = BOX_PLAIN;

	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		if (!(fields[i] = strsep(&line, "\t")))
			return;
	const bool is_stopped = is_kept_end(fields[1]);
	if (!box_id_is(all->serve->pod, fields[0]) ||
	    strlen(fields[3]) > BOX_SESSION_MAX ||
	    (!is_stopped && strcmp(fields[1], "ready") != 0 &&
	     strcmp(fields[1], "paused") != 0))
		return;
	for (int i = 0; i < BOX_KINDS; i++)
		if (!strcmp(kinds[i], fields[2]))
			kind = (enum box_kind)i;
	struct box *b = box_new(all, fields[0], kind, fields[3]);
	if (!b)
		return;
	b->is_stopped = is_stopped;
	b->state = strcmp(fields[1], "ready") != 0 ? BOX_PAUSED : BOX_RUNNING;
	b->epoch = (unsigned)strtoul(fields[4], NULL, 10);
}

static void on_list(void *context, struct spawn_answer *a)
{
	struct find *f = context;
	AUTO_FREE char *text = spawn_answer_text(a);
	char *rest = text;

	for (char *line; (line = strsep(&rest, "\n"));)
		if (*line)
			add_line(f->all, line);
	f->done(f->context);
	free(f);
}

void boxes_find(struct boxes *all, void *context, void (*done)(void *context))
{
	struct order o = { .kind = ORDER_LIST };
	struct find *f = calloc(1, sizeof(*f));

	if (!f)
		abort();
	*f = (struct find){ all, context, done };
	spawn_link_ask(all->link, &o, f, on_list);
	order_done(&o);
}

void box_key(const struct box *b, char ret[KEYS_BOX])
{
	keys_of_box(b->all->serve->key, b->id, b->epoch, ret);
}

const char *box_state_name(const struct box *b)
{
	if (b->is_removed)
		return "stopped";
	switch (b->state) {
	case BOX_STARTING:
		return "starting";
	case BOX_RUNNING:
		return "running";
	case BOX_PAUSED:
		return "paused";
	case BOX_FAILED:
		return "error";
	case BOX_ENDED:
		break;
	}
	return "stopped";
}
