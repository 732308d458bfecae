#include "cli/common/log_print.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/own.h"
#include "base/regular.h"
#include "base/term_escape.h"
#include "cli/common/client.h"
#include "sandbox/kernel/log_level.h"
#include "sandbox/state/registry.h"

/* the most bytes that are read of a log file; the supervisor keeps less in a file
 * (supervisor/log.h) */
#define LOG_MAX (16u << 20)

struct printer {
	struct client client;
	const struct log_wanted *wanted;
	struct err error; /* the first error; kind ERR_NONE: all entries were written */
	bool has_printed;
};

/* Writes a process's output to `fd`; if `fd` is a terminal, control characters are
 * made visible. */
static int write_out(int fd, const uint8_t *data, size_t len)
{
	struct buffer shown;

	if (!isatty(fd))
		return io_write_all(fd, data, len);
	buffer_init(&shown, 4 * len + 1);
	term_escape_append(&shown, data, len);
	int rc = io_write_all(fd, buffer_data(&shown), buffer_len(&shown));
	buffer_done(&shown);
	return rc;
}

/* Returns the entry's text or decoded bytes, allocated; NULL if the entry has neither. */
static uint8_t *output_of(struct json_view params, size_t *ret_len)
{
	char *text = json_view_string(json_view_get(params, "data"));

	if (!text)
		return json_view_base64(json_view_get(params, "base64"), ret_len);
	*ret_len = strlen(text);
	return (uint8_t *)text;
}

/* Notes that the log has lost entries before they were read.  Returns false: the entry tells
 * of none. */
static bool note_dropped(struct json_view entry)
{
	int64_t bytes;

	if (!json_view_integer(json_view_get(entry, "dropped"), &bytes))
		return false;
	note_print(
		"note: %lld bytes of the log are gone: they were written faster than they "
		"were read",
		(long long)bytes);
	return true;
}

/* Writes one entry to stdout or stderr, as the process did. */
static int put_entry(struct json_view entry, struct err *e)
{
	if (note_dropped(entry))
		return 0;
	const int fd = json_view_is(json_view_get(entry, "stream"), "stderr") ? 2 : 1;
	size_t len = 0;
	AUTO_FREE uint8_t *data = output_of(entry, &len);

	if (!data || write_out(fd, data, len) == 0)
		return 0;
	return err_sys(e, "write to %s", fd == 1 ? "stdout" : "stderr");
}

/* Returns a log entry of the supervisor as a line for people, or its JSON unchanged. */
static char *line_of(struct json_view entry)
{
	AUTO_FREE char *time = json_view_string(json_view_get(entry, "time"));
	AUTO_FREE char *level = json_view_string(json_view_get(entry, "level"));
	AUTO_FREE char *component = json_view_string(json_view_get(entry, "component"));
	AUTO_FREE char *message = json_view_string(json_view_get(entry, "message"));
	const struct json_view fields = json_view_get(entry, "fields");

	if (log_level_wants_json() || !time || !level || !component || !message)
		return text_format("%.*s\n", (int)entry.len, entry.text);
	AUTO_FREE char *shown = term_escape_line(message);
	if (fields.len <= 2) /* the entry has no fields */
		return text_format("%s %-5s %s: %s\n", time, level, component, shown);
	return text_format("%s %-5s %s: %s %.*s\n", time, level, component, shown,
			   (int)fields.len, fields.text);
}

static int put_line(struct json_view entry, struct err *e)
{
	if (note_dropped(entry))
		return 0;
	AUTO_FREE char *line = line_of(entry);

	return write_out(1, (const uint8_t *)line, strlen(line)) == 0
		       ? 0 : err_sys(e, "write to stdout");
}

static int put(const struct log_wanted *w, struct json_view entry, struct err *e)
{
	return w->of_supervisor ? put_line(entry, e) : put_entry(entry, e);
}

/* --- of one that lives ------------------------------------------------------ */

static void take(void *context, const struct message *m)
{
	struct printer *p = context;

	if (!json_view_is(m->method, p->wanted->of_supervisor ? "log" : "output") ||
	    p->error.kind != ERR_NONE)
		return;
	p->has_printed = true;
	if (put(p->wanted, m->params, &p->error) < 0)
		(void)shutdown(p->client.fd, SHUT_RDWR); /* the output cannot be
							  * written, so the other
							  * entries are not needed:
							  * ends the connection */
}

static int print_live(struct printer *live, struct err *e)
{
	struct printer p = *live;
	const struct log_wanted *w = p.wanted;
	struct json_view answer;
	AUTO_FREE char *last = w->tail == LOG_PRINT_ALL
				       ? text_copy("null")
				       : text_format("%llu", (unsigned long long)w->tail);
	AUTO_FREE char *params = text_format(
		"{\"follow\":%s,\"tail\":%s%s%s}", w->follows ? "true" : "false", last,
		w->of_supervisor ? ",\"of\":\"supervisor\"" : "",
		w->holds ? ",\"hold\":true" : "");

	p.client.context = &p;
	p.client.take = take;
	p.client.prints = true;
	int rc = client_call(&p.client, "logs", params, &answer, e);
	client_done(&p.client);
	live->has_printed = p.has_printed;
	if (p.error.kind != ERR_NONE) {
		*e = p.error;
		return -1;
	}
	return rc;
}

/* --- of one that has ended --------------------------------------------------- */

/* Returns the position after the first `count` newlines from the end, where the last
 * `count` lines begin.  A last line without a newline is ignored: a supervisor that
 * was killed while it wrote has left it. */
static const char *find_tail(const char *text, size_t len, uint64_t count)
{
	uint64_t newlines = 0;

	for (size_t n = len; n-- > 0;)
		if (text[n] == '\n' && newlines++ == count)
			return text + n + 1;
	return text;
}

static int print_entries(const struct log_wanted *w, const char *at, const char *end,
			 struct err *e)
{
	for (const char *stop; at < end && (stop = memchr(at, '\n', (size_t)(end - at)));
	     at = stop + 1) {
		struct json_view entry;
		if (json_view_scan(&entry, at, (size_t)(stop - at), NULL) == 0 &&
		    put(w, entry, e) < 0)
			return -1;
	}
	return 0;
}

static int read_log(int folder, const char *name, char **ret, size_t *ret_len,
		    struct err *e)
{
	AUTO_CLOSE int fd = regular_open(folder, name, O_NOFOLLOW, "the log", e);

	*ret = NULL;
	*ret_len = 0;
	if (fd < 0)
		return e->sys == ENOENT ? 0 : -1;
	return io_read_file(fd, "the log", LOG_MAX, ret, ret_len, e);
}

/* Prints the log of a sandbox that has ended: the older file, then the newer one. */
static int print_ended(const char *name, const struct log_wanted *w, struct err *e)
{
	const char *file = w->of_supervisor ? LOG_LEVEL_FILE : "output";
	AUTO_FREE char *older = text_format("%s.1", file);
	AUTO_CLOSE int folder = registry_log(name, e);
	AUTO_FREE char *before = NULL, *now = NULL;
	size_t before_len, now_len;

	if (folder < 0 || read_log(folder, older, &before, &before_len, e) < 0 ||
	    read_log(folder, file, &now, &now_len, e) < 0)
		return -1;
	AUTO_FREE char *all = mem_new(before_len + now_len);
	if (before_len)
		memcpy(all, before, before_len);
	if (now_len)
		memcpy(all + before_len, now, now_len);
	const char *end = all + before_len + now_len;
	return print_entries(w, find_tail(all, before_len + now_len, w->tail), end, e);
}

/* --- either --------------------------------------------------------------------- */

int log_print(const char *name, const struct log_wanted *w, struct err *e)
{
	struct printer p = { .wanted = w };
	AUTO_FREE char *record = NULL;

	if (client_open(&p.client, name, e) == 0) {
		if (print_live(&p, e) == 0)
			return 0;
		if (e->kind != ERR_GONE || p.has_printed)
			return -1;
		/* The sandbox ended before it answered.  Its log is whole once the record
		 * of its end is written, for which -f waits. */
		if (w->follows)
			(void)registry_wait(name, &record, NULL);
	} else if (e->kind != ERR_NOT_FOUND)
		return -1;
	if (print_ended(name, w, e) == 0)
		return 0;
	return e->kind == ERR_NOT_FOUND ? client_absent(name, e) : -1;
}
