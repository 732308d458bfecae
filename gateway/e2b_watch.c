/* Watching folders: a program inside waits for inotify(7), and prints a line for each event.
 *
 * The program is a text for python3, which a sandbox must have for it.  Its lines come from
 * inside, so each is parsed, bounded, and reduced to a name and one of five types. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/own.h"
#include "gateway/e2b.h"
#include "gateway/keys.h"

#define ID_DIGITS      16
#define WATCHERS_MAX   16 /* each has an inotify instance, of which a user has 128 */
#define EVENT_LINE_MAX (16u << 10)
#define EVENTS_MAX     (1u << 20) /* bytes of events that wait for a client */
#define PING_MS	       15000

/* Arguments: the folder, and 1 where those below it are watched, too.  The names of types are
 * those of the protocol; a name that was moved away is RENAME, as E2B has it. */
static const char program[] =
	"import ctypes, json, os, struct, sys\n"
	"C = ctypes.CDLL(None, use_errno=True)\n"
	"TYPES = ((0x180, 'CREATE'), (2, 'WRITE'), (0x200, 'REMOVE'), (0x40, 'RENAME'), (4, 'CHMOD'))\n"
	"top, deep = sys.argv[1], sys.argv[2] == '1'\n"
	"fd, below = C.inotify_init1(0x80000), {}\n"
	"def say(**line):\n"
	"    print(json.dumps(line), flush=True)\n"
	"def watch(folder, name):\n"
	"    number = C.inotify_add_watch(fd, os.fsencode(folder), 0x10003c6)\n"
	"    if number < 0:\n"
	"        return ctypes.get_errno()\n"
	"    below[number] = name\n"
	"    try:\n"
	"        names = os.listdir(folder) if deep else ()\n"
	"    except OSError:\n"
	"        names = ()\n"
	"    for one in names:\n"
	"        path = os.path.join(folder, one)\n"
	"        if os.path.isdir(path) and not os.path.islink(path):\n"
	"            watch(path, os.path.join(name, one))\n"
	"    return 0\n"
	"failure = ctypes.get_errno() if fd < 0 else watch(top, '')\n"
	"if failure:\n"
	"    say(error=failure, text=os.strerror(failure))\n"
	"    sys.exit(1)\n"
	"say(ready=True)\n"
	"while True:\n"
	"    data = os.read(fd, 65536)\n"
	"    while data:\n"
	"        number, mask, _, size = struct.unpack('iIII', data[:16])\n"
	"        name = os.fsdecode(data[16:16 + size].rstrip(b'\\0'))\n"
	"        data = data[16 + size:]\n"
	"        if mask & 0x8000:\n"
	"            below.pop(number, None)\n"
	"        if not name or number not in below:\n"
	"            continue\n"
	"        name = os.path.join(below[number], name)\n"
	"        if deep and mask & 0x40000000 and mask & 0x180:\n"
	"            watch(os.path.join(top, name), name)\n"
	"        for bits, kind in TYPES:\n"
	"            if mask & bits:\n"
	"                say(name=name.encode('utf-8', 'replace').decode(), type='EVENT_TYPE_' + kind)\n";

struct e2b_watcher {
	struct e2b_watcher *next;
	struct e2b *owner;
	char id[ID_DIGITS + 1];
	int64_t number; /* of its process */
	struct box_stream *follow;
	struct buffer line;    /* what has come of a line */
	struct buffer events;  /* members of an array, for GetWatcherEvents */
	struct visit *waiting; /* the request that waits until it watches */
	struct visit *stream;  /* of WatchDir */
	struct timer ping;
};

/* The state of a request: until its program has been started, and a stream to its end. */
struct watch_start {
	struct visit *visit;
	char *path; /* owned */
	bool is_deep, is_stream;
	struct e2b_watcher *watcher; /* of a stream, from then on */
};

/* --- watchers ------------------------------------------------------------------- */

static void kill_program(struct e2b_watcher *w)
{
	struct box *b = w->owner->box;
	struct hutch_error e;

	/* The program may have ended, or the sandbox has. */
	if (b->handle)
		(void)hutch_exec_signal(b->handle, w->number, SIGKILL, NULL, &e);
}

static void watcher_free(struct e2b_watcher *w)
{
	for (struct e2b_watcher **at = &w->owner->watchers; *at; at = &(*at)->next) {
		if (*at != w)
			continue;
		*at = w->next;
		break;
	}
	loop_stop(w->owner->box->all->loop, &w->ping);
	box_unfollow(w->owner->box, w->follow);
	buffer_done(&w->line);
	buffer_done(&w->events);
	free(w);
}

void watchers_free(struct e2b *x)
{
	while (x->watchers)
		watcher_free(x->watchers);
}

/* Answers what waits for the watcher, and ends it. */
static void fail(struct e2b_watcher *w, enum connect_code code, const char *message)
{
	struct visit *v = w->waiting ? w->waiting : w->stream;

	if (v) {
		struct watch_start *s = v->state;

		s->watcher = NULL;
		if (w->waiting)
			connect_fail(v, code, message);
		else
			connect_end(v, code, message);
	}
	kill_program(w);
	watcher_free(w);
}

static struct e2b_watcher *find(struct visit *v, const struct json_at *root)
{
	struct e2b *x = v->box ? e2b_of(v->box) : NULL;
	const char *id = json_member_string(root, "watcherId", "");

	for (struct e2b_watcher *w = x ? x->watchers : NULL; w; w = w->next)
		if (!w->stream && !strcmp(w->id, id))
			return w;
	AUTO_FREE char *text = text_format("watcher with id %s not found", id);
	connect_fail(v, CONNECT_NOT_FOUND, text);
	return NULL;
}

/* --- events --------------------------------------------------------------------- */

static void send_member(struct e2b_watcher *w, const char *member)
{
	struct buffer json;

	json_write_begin(&json);
	json_write_raw(&json, NULL, member);
	connect_send(w->stream, &json);
}

static void on_ping(void *context)
{
	struct e2b_watcher *w = context;

	send_member(w, "{\"keepalive\":{}}");
	loop_start(w->owner->box->all->loop, &w->ping, PING_MS);
}

static void on_ready(struct e2b_watcher *w)
{
	struct visit *v = w->waiting;
	struct buffer json;

	w->waiting = NULL;
	if (!v)
		return;
	if (w->stream) {
		connect_begin(v);
		send_member(w, "{\"start\":{}}");
		loop_start(w->owner->box->all->loop, &w->ping, PING_MS);
		return;
	}
	json_write_begin(&json);
	json_write_open(&json, NULL, "{");
	json_write_text(&json, "watcherId", w->id);
	json_write_close(&json, "}");
	visit_reply(v, &json);
}

static void add_event(struct e2b_watcher *w, const struct json_at *root, const char *type)
{
	struct buffer json;

	json_write_begin(&json);
	json_write_open(&json, NULL, "{");
	json_write_text(&json, "name", json_member_string(root, "name", ""));
	json_write_text(&json, "type", type);
	json_write_close(&json, "}");
	AUTO_FREE char *event = json_write_end(&json);
	if (w->stream) {
		AUTO_FREE char *member = text_format("{\"filesystem\":%s}", event);
		send_member(w, member);
		return;
	}
	/* A client that does not come for its events loses those that do not fit. */
	const size_t len = strlen(event);
	if (buffer_len(&w->events) + len + 1 > EVENTS_MAX)
		return;
	if (buffer_len(&w->events) > 0)
		(void)buffer_append(&w->events, ",", 1);
	(void)buffer_append(&w->events, event, len);
}

/* Takes one line; false: the watcher has been ended. */
static bool take_line(struct e2b_watcher *w, const char *text, size_t len)
{
	static const char *const types[] = { "EVENT_TYPE_CREATE", "EVENT_TYPE_WRITE",
					     "EVENT_TYPE_REMOVE", "EVENT_TYPE_RENAME",
					     "EVENT_TYPE_CHMOD" };
	AUTO_JSON struct json *doc = json_parse(text, len, NULL);
	struct json_at root, ready;

	if (!doc)
		return true; /* no line of the program's */
	json_root(doc, "event", &root);
	if (json_member(&root, "ready", &ready)) {
		on_ready(w);
		return true;
	}
	const char *error = json_member_string(&root, "text", NULL);
	if (w->waiting && error) {
		const bool is_absent = json_member_uint(&root, "error", 0) == ENOENT;
		fail(w, is_absent ? CONNECT_NOT_FOUND : CONNECT_INVALID_ARGUMENT, error);
		return false;
	}
	const char *type = json_member_string(&root, "type", "");
	for (size_t i = 0; i < ARRAY_LEN(types) && !w->waiting; i++)
		if (!strcmp(type, types[i]))
			add_event(w, &root, types[i]);
	return true;
}

static void on_output(struct e2b_watcher *w, const struct hutch_message *m)
{
	const char *newline;

	if (m->stream != 1)
		return;
	if (!buffer_append(&w->line, m->data, m->data_len)) {
		fail(w, CONNECT_RESOURCE_EXHAUSTED, "too many events at once");
		return;
	}
	while ((newline = memchr(buffer_data(&w->line), '\n', buffer_len(&w->line)))) {
		const char *text = (const char *)buffer_data(&w->line);
		const size_t len = (size_t)(newline - text);

		if (!take_line(w, text, len))
			return;
		buffer_consume(&w->line, len + 1);
	}
	if (buffer_len(&w->line) > EVENT_LINE_MAX)
		fail(w, CONNECT_INTERNAL, "a line of the watching program is too long");
}

static void on_message(void *context, const struct hutch_message *m)
{
	struct e2b_watcher *w = context;

	if (m->type == HUTCH_ENDED)
		fail(w, CONNECT_UNAVAILABLE, "The sandbox was not found");
	else if (m->type == HUTCH_OUTPUT)
		on_output(w, m);
	else
		fail(w, CONNECT_INTERNAL, "the watching program has ended");
}

/* --- a new one ------------------------------------------------------------------ */

static void on_started(void *context, const struct hutch_message *m)
{
	struct visit *v = context;
	struct watch_start *s = v->state;
	struct e2b_watcher *w;

	if (m->error.kind == HUTCH_NOT_FOUND) {
		connect_fail(v, CONNECT_UNIMPLEMENTED,
			     "watching a folder needs python3 in the sandbox");
		return;
	}
	if (m->error.kind != HUTCH_OK) {
		connect_fail_box(v, &m->error);
		return;
	}
	w = calloc(1, sizeof(*w));
	if (!w)
		abort();
	w->owner = v->box->extra;
	keys_random(w->id, ID_DIGITS);
	(void)hutch_json_integer(m->json, "process", &w->number);
	buffer_init(&w->line, 4u << 20);
	buffer_init(&w->events, EVENTS_MAX);
	w->waiting = v;
	w->stream = s->is_stream ? v : NULL;
	w->ping = (struct timer){ .context = w, .expired = on_ping };
	w->next = w->owner->watchers;
	w->owner->watchers = w;
	w->follow = box_follow(v->box, w->number, w, on_message);
	s->watcher = w;
}

static size_t count_of(const struct e2b *x)
{
	size_t count = 0;

	for (const struct e2b_watcher *w = x->watchers; w; w = w->next)
		count++;
	return count;
}

static void start_it(void *context, struct box *b, const struct hutch_error *why)
{
	struct visit *v = context;
	const struct watch_start *s = v->state;
	const struct e2b *x = e2b_of(b);
	struct hutch_error e;

	if (why || !x) {
		connect_fail(v, CONNECT_UNAVAILABLE, why ? why->message : "not E2B's");
		return;
	}
	if (count_of(x) >= WATCHERS_MAX) {
		connect_fail(v, CONNECT_RESOURCE_EXHAUSTED,
			     "there are too many watchers");
		return;
	}
	const char *argv[] = {
		"python3", "-SEc", program, s->path, s->is_deep ? "1" : "0", NULL
	};
	const struct hutch_exec exec = { .size = sizeof(exec), .argv = argv };
	void *tag = box_tag(b, v, on_started);
	if (hutch_exec(b->handle, &exec, tag, &e) >= 0)
		return;
	box_untag(tag);
	connect_fail_box(v, &e);
}

static void begin(struct visit *v, bool is_stream)
{
	AUTO_JSON struct json *doc = NULL;
	struct json_at root, recursive;
	struct watch_start *s;

	if (!connect_read(v, &doc, &root))
		return;
	s = calloc(1, sizeof(*s));
	if (!s)
		abort();
	v->state = s;
	s->visit = v;
	s->is_stream = is_stream;
	s->path = text_copy(json_member_string(&root, "path", "."));
	if (json_member(&root, "recursive", &recursive))
		(void)json_bool(&recursive, &s->is_deep, NULL);
	envd_use(v, start_it);
}

void watch_closed(struct visit *v)
{
	struct watch_start *s = v->state;

	if (!s)
		return;
	/* A stream takes its watcher with it; one that is polled stays. */
	if (s->is_stream && s->watcher) {
		kill_program(s->watcher);
		watcher_free(s->watcher);
	}
	free(s->path);
	free(s);
}

void watch_create(struct visit *v)
{
	begin(v, false);
}

void watch_stream(struct visit *v)
{
	begin(v, true);
}

/* --- the other calls ------------------------------------------------------------ */

void watch_events(struct visit *v)
{
	AUTO_JSON struct json *doc = NULL;
	struct json_at root;
	struct e2b_watcher *w = connect_read(v, &doc, &root) ? find(v, &root) : NULL;

	if (!w)
		return;
	AUTO_FREE char *text = text_format("{\"events\":[%.*s]}",
					   (int)buffer_len(&w->events),
					   (const char *)buffer_data(&w->events));
	buffer_consume(&w->events, buffer_len(&w->events));
	http_reply_json(v->request, 200, text);
}

void watch_remove(struct visit *v)
{
	AUTO_JSON struct json *doc = NULL;
	struct json_at root;
	struct e2b_watcher *w = connect_read(v, &doc, &root) ? find(v, &root) : NULL;

	if (!w)
		return;
	kill_program(w);
	watcher_free(w);
	http_reply_json(v->request, 200, "{}");
}
