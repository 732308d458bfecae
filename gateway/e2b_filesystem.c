/* The calls of filesystem.Filesystem, by actions of the executor (docs/actions.md). */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/own.h"
#include "gateway/e2b.h"

#define ENTRIES_MAX 10000
#define UNDER_WAY   64 /* entries that are looked at, at once */

#define I_LOOKED "I looked at "

/* A call, and its state: it lives as long as its visit. */
struct call {
	struct visit *visit;
	char *path, *to; /* owned */
	uint32_t depth;
	char *names, *rest; /* of ListDir: owned, and what is left of it */
	struct buffer json;
	unsigned waiting;
	struct hutch_error why; /* of ListDir: the first failure */
};

void filesystem_closed(struct visit *v)
{
	struct call *c = v->state;

	if (!c)
		return;
	free(c->path);
	free(c->to);
	free(c->names);
	buffer_done(&c->json);
	free(c);
}

/* --- actions -------------------------------------------------------------------- */

static void open_action(struct buffer *json, const char *action)
{
	json_write_begin(json);
	json_write_open(json, NULL, "{");
	json_write_text(json, "action", action);
	json_write_text(json, "session", E2B_SESSION);
	json_write_open(json, "args", "{");
}

static bool send_action(struct call *c, const char *action, const char *path,
			const char *members, box_answer *done, struct hutch_error *e)
{
	struct buffer json;

	open_action(&json, action);
	json_write_text(&json, "path", path);
	if (members)
		json_write_raw(&json, NULL, members);
	json_write_close(&json, "}}");
	return envd_act(c->visit->box, &json, c, done, e);
}

bool filesystem_ask(struct box *b, const char *path, void *context, box_answer *done,
		    struct hutch_error *e)
{
	struct buffer json;

	open_action(&json, "stat");
	json_write_text(&json, "path", path);
	json_write_close(&json, "}}");
	return envd_act(b, &json, context, done, e);
}

static void act_on(struct call *c, const char *action, const char *path,
		   const char *members, box_answer *done)
{
	struct hutch_error e;

	if (!send_action(c, action, path, members, done, &e))
		connect_fail_box(c->visit, &e);
}

static enum connect_code code_of(const char *text)
{
	if (!strncmp(text, "File not found", strlen("File not found")))
		return CONNECT_NOT_FOUND;
	if (strstr(text, "Permission denied") || strstr(text, "Read-only file system"))
		return CONNECT_PERMISSION_DENIED;
	return CONNECT_INVALID_ARGUMENT;
}

/* Whether an action succeeded; else the request is answered. */
static bool is_done(struct call *c, const struct hutch_message *m)
{
	AUTO_FREE char *kind = NULL, *text = NULL;

	if (m->error.kind != HUTCH_OK) {
		connect_fail_box(c->visit, &m->error);
		return false;
	}
	kind = hutch_json_string(m->json, "observation");
	if (kind && strcmp(kind, "error") != 0)
		return true;
	text = hutch_json_string(m->json, "content");
	connect_fail(c->visit, code_of(text ? text : ""), text ? text : "");
	return false;
}

/* --- an entry ------------------------------------------------------------------- */

static const char *type_of(const char *type)
{
	return !strcmp(type, "folder") ? "FILE_TYPE_DIRECTORY"
	       : !strcmp(type, "link") ? "FILE_TYPE_SYMLINK"
	       : !strcmp(type, "file") ? "FILE_TYPE_FILE"
				       : "FILE_TYPE_UNSPECIFIED";
}

/* As Go writes a mode: a letter of the type, and nine of the permissions. */
static void permissions_of(const char *type, int64_t mode, char ret[11])
{
	static const char bits[] = "rwxrwxrwx";

	ret[0] = !strcmp(type, "folder") ? 'd' : !strcmp(type, "link") ? 'L' : '-';
	for (int i = 0; i < 9; i++)
		ret[1 + i] = mode & (0400 >> i) ? bits[i] : '-';
	ret[10] = '\0';
}

static void write_time(struct buffer *json, const char *observation)
{
	double mtime = 0;
	char text[32];
	struct tm tm;

	(void)hutch_json_number(observation, "hutch.stat.mtime", &mtime);
	const time_t seconds = (time_t)mtime;
	if (mtime < 0 || !gmtime_r(&seconds, &tm) || tm.tm_year > 9999 - 1900)
		return; /* no time of the protocol */
	(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	AUTO_FREE char *whole =
		text_format("%s.%03dZ", text, (int)((mtime - (double)seconds) * 1000));
	json_write_text(json, "modifiedTime", whole);
}

static void write_id(struct buffer *json, const char *key, const char *observation,
		     const char *path)
{
	int64_t id = 0;

	(void)hutch_json_integer(observation, path, &id);
	AUTO_FREE char *text = text_format("%lld", (long long)id);
	json_write_text(json, key, text);
}

char *filesystem_path(const char *observation)
{
	char *text = hutch_json_string(observation, "message");
	const size_t prefix = strlen(I_LOOKED), len = text ? strlen(text) : 0;

	if (len <= prefix + 1 || strncmp(text, I_LOOKED, prefix) != 0) {
		free(text);
		return text_copy("");
	}
	memmove(text, text + prefix, len - prefix + 1);
	text[len - prefix - 1] = '\0'; /* the full stop */
	return text;
}

/* Writes an EntryInfo from an observation of `stat`. */
static void write_entry(struct buffer *json, const char *key, const char *observation)
{
	AUTO_FREE char *type = hutch_json_string(observation, "hutch.stat.type");
	AUTO_FREE char *target = hutch_json_string(observation, "hutch.stat.target");
	AUTO_FREE char *path = filesystem_path(observation);
	const char *slash = strrchr(path, '/');
	int64_t size = 0, mode = 0;
	char permissions[11];

	if (!type)
		type = text_copy("");
	(void)hutch_json_integer(observation, "hutch.stat.size", &size);
	(void)hutch_json_integer(observation, "hutch.stat.mode", &mode);
	permissions_of(type, mode, permissions);
	json_write_open(json, key, "{");
	json_write_text(json, "name", slash && slash[1] ? slash + 1 : path);
	json_write_text(json, "type", type_of(type));
	json_write_text(json, "path", path);
	json_write_format(json, "size", "\"%lld\"", (long long)size);
	json_write_number(json, "mode", mode & 0777);
	json_write_text(json, "permissions", permissions);
	write_id(json, "owner", observation, "hutch.stat.uid");
	write_id(json, "group", observation, "hutch.stat.gid");
	write_time(json, observation);
	if (target)
		json_write_text(json, "symlinkTarget", target);
	json_write_close(json, "}");
}

static void on_entry(void *context, const struct hutch_message *m)
{
	struct call *c = context;
	struct buffer json;

	if (!is_done(c, m))
		return;
	json_write_begin(&json);
	json_write_open(&json, NULL, "{");
	write_entry(&json, "entry", m->json);
	json_write_close(&json, "}");
	visit_reply(c->visit, &json);
}

/* --- requests ------------------------------------------------------------------- */

/* Reads the request, and calls `then` when the sandbox can be used. */
static void begin(struct visit *v, const char *key, box_ready *then)
{
	AUTO_JSON struct json *doc = NULL;
	struct json_at root;
	struct call *c;

	if (!connect_read(v, &doc, &root))
		return;
	const char *path = json_member_string(&root, key, "");
	c = calloc(1, sizeof(*c));
	if (!c)
		abort();
	c->visit = v;
	/* An empty path is that of the working directory. */
	c->path = text_copy(*path ? path : ".");
	for (size_t len = strlen(c->path); len > 1 && c->path[len - 1] == '/'; len--)
		c->path[len - 1] = '\0';
	c->to = text_copy(json_member_string(&root, "destination", ""));
	c->depth = (uint32_t)json_member_uint(&root, "depth", 1);
	v->state = c;
	envd_use(v, then);
}

static bool is_ready(struct visit *v, const struct hutch_error *why)
{
	if (why)
		connect_fail_box(v, why);
	return !why;
}

static void do_stat(void *context, struct box *b, const struct hutch_error *why)
{
	struct visit *v = context;
	struct call *c = v->state;

	(void)b;
	if (is_ready(v, why))
		act_on(c, "stat", c->path, NULL, on_entry);
}

void filesystem_stat(struct visit *v)
{
	begin(v, "path", do_stat);
}

/* --- MakeDir -------------------------------------------------------------------- */

static void on_made(void *context, const struct hutch_message *m)
{
	struct call *c = context;

	if (is_done(c, m))
		act_on(c, "stat", c->path, NULL, on_entry);
}

/* hutch makes a folder that is there already without an error, unlike E2B. */
static void on_looked(void *context, const struct hutch_message *m)
{
	struct call *c = context;
	AUTO_FREE char *type = hutch_json_string(m->json, "hutch.stat.type");

	if (m->error.kind != HUTCH_OK) {
		connect_fail_box(c->visit, &m->error);
		return;
	}
	if (!type) {
		act_on(c, "mkdir", c->path, NULL, on_made);
		return;
	}
	const bool is_folder = !strcmp(type, "folder");
	AUTO_FREE char *text = text_format(
		is_folder ? "directory already exists: %s"
			  : "path already exists but it is not a directory: %s",
		c->path);
	connect_fail(c->visit,
		     is_folder ? CONNECT_ALREADY_EXISTS : CONNECT_INVALID_ARGUMENT, text);
}

static void do_make(void *context, struct box *b, const struct hutch_error *why)
{
	struct visit *v = context;
	struct call *c = v->state;

	(void)b;
	if (is_ready(v, why))
		act_on(c, "stat", c->path, NULL, on_looked);
}

void filesystem_make_dir(struct visit *v)
{
	begin(v, "path", do_make);
}

/* --- Move ----------------------------------------------------------------------- */

static void on_moved(void *context, const struct hutch_message *m)
{
	struct call *c = context;

	if (is_done(c, m))
		act_on(c, "stat", c->to, NULL, on_entry);
}

static void move_now(struct call *c)
{
	AUTO_FREE char *to = json_write_quoted(c->to);
	AUTO_FREE char *members = text_format("\"to\":%s,\"overwrite\":true", to);

	act_on(c, "move", c->path, members, on_moved);
}

static void on_folder(void *context, const struct hutch_message *m)
{
	struct call *c = context;

	if (is_done(c, m))
		move_now(c);
}

/* The folders above the new place are made, as E2B does. */
static void do_move(void *context, struct box *b, const struct hutch_error *why)
{
	struct visit *v = context;
	struct call *c = v->state;
	char *slash = strrchr(c->to, '/');

	(void)b;
	if (!is_ready(v, why))
		return;
	if (!slash || slash == c->to) {
		move_now(c);
		return;
	}
	AUTO_FREE char *folder = strndup(c->to, (size_t)(slash - c->to));
	act_on(c, "mkdir", folder ? folder : "", NULL, on_folder);
}

void filesystem_move(struct visit *v)
{
	begin(v, "source", do_move);
}

/* --- Remove --------------------------------------------------------------------- */

static void on_removed(void *context, const struct hutch_message *m)
{
	struct call *c = context;
	AUTO_FREE char *text = hutch_json_string(m->json, "content");

	/* E2B removes what is not there without an error. */
	if (m->error.kind == HUTCH_OK && text && code_of(text) == CONNECT_NOT_FOUND)
		http_reply_json(c->visit->request, 200, "{}");
	else if (is_done(c, m))
		http_reply_json(c->visit->request, 200, "{}");
}

static void do_remove(void *context, struct box *b, const struct hutch_error *why)
{
	struct visit *v = context;
	struct call *c = v->state;

	(void)b;
	if (is_ready(v, why))
		act_on(c, "remove", c->path, "\"recursive\":true", on_removed);
}

void filesystem_remove(struct visit *v)
{
	begin(v, "path", do_remove);
}

/* --- ListDir -------------------------------------------------------------------- */

static void look_at_more(struct call *c);

static void finish_list(struct call *c)
{
	if (c->why.kind != HUTCH_OK) {
		connect_fail_box(c->visit, &c->why);
		return;
	}
	json_write_close(&c->json, "]}");
	visit_reply(c->visit, &c->json);
}

static void on_listed_entry(void *context, const struct hutch_message *m)
{
	struct call *c = context;
	AUTO_FREE char *type = hutch_json_string(m->json, "hutch.stat.type");

	c->waiting--;
	if (m->error.kind != HUTCH_OK && c->why.kind == HUTCH_OK)
		c->why = m->error;
	/* An entry may have been removed meanwhile. */
	if (type)
		write_entry(&c->json, NULL, m->json);
	look_at_more(c);
}

/* The last line of a list that is too long is a sentence. */
static bool is_name(const char *line)
{
	static const char end[] = " not shown.]";
	const size_t len = strlen(line), most = strlen(end);

	return len > 0 &&
	       (line[0] != '[' || len < most || strcmp(line + len - most, end) != 0);
}

static void look_at(struct call *c, char *name)
{
	const size_t len = strlen(name);

	if (name[len - 1] == '/')
		name[len - 1] = '\0';
	AUTO_FREE char *path = strcmp(c->path, ".") == 0
				       ? text_copy(name)
				       : text_format("%s/%s", c->path, name);
	if (send_action(c, "stat", path, NULL, on_listed_entry, &c->why))
		c->waiting++;
}

/* Looks at the next entries.  The request is answered behind the last answer, since its state
 * must live until then. */
static void look_at_more(struct call *c)
{
	char *name;

	while (c->waiting < UNDER_WAY && c->why.kind == HUTCH_OK && c->rest &&
	       (name = strsep(&c->rest, "\n")))
		if (is_name(name))
			look_at(c, name);
	if (c->waiting == 0)
		finish_list(c);
}

static void on_listed(void *context, const struct hutch_message *m)
{
	struct call *c = context;

	if (!is_done(c, m))
		return;
	c->names = c->rest = hutch_json_string(m->json, "content");
	json_write_begin(&c->json);
	json_write_open(&c->json, NULL, "{");
	json_write_open(&c->json, "entries", "[");
	look_at_more(c);
}

static void do_list(void *context, struct box *b, const struct hutch_error *why)
{
	struct visit *v = context;
	struct call *c = v->state;

	(void)b;
	if (!is_ready(v, why))
		return;
	AUTO_FREE char *members = text_format("\"depth\":%u,\"limit\":%d",
					      c->depth ? c->depth : 1, ENTRIES_MAX);
	act_on(c, "list", c->path, members, on_listed);
}

void filesystem_list(struct visit *v)
{
	begin(v, "path", do_list);
}
