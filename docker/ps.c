/* docker ps. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/own.h"
#include "cli/common/flags.h"
#include "cli/common/table.h"
#include "docker/describe.h"
#include "docker/list_format.h"
#include "docker/tree.h"
#include "docker/verbs.h"
#include "sandbox/launch/result.h"

#define COMMAND_MAX 20 /* characters of a command, docker's */

struct listing {
	struct list
		filters; /* owned: KEY=VALUE, those of docker's that hutch ps has not */
	struct list_format format;
	bool is_quiet, is_whole;
	struct table table;
};

static char *text_of(struct json_view object, const char *path)
{
	char *text = json_view_string(json_view_get(object, path));

	return text ? text : text_copy("");
}

/* Whether a name fits a filter, which is a part of it; with ^ in front and $ behind, as
 * callers write, it is all of it. */
static bool fits_name(const char *name, const char *wanted)
{
	const bool is_begin = wanted[0] == '^';
	const char *from = wanted + is_begin;

	from += from[0] == '/';
	size_t len = strlen(from);
	const bool is_end = len > 0 && from[len - 1] == '$';
	len -= is_end;
	AUTO_FREE char *part = strndup(from, len);
	if (!part)
		abort();
	if (is_begin && is_end)
		return !strcmp(name, part);
	if (is_begin)
		return !strncmp(name, part, len);
	const size_t whole = strlen(name);
	if (is_end)
		return whole >= len && !strcmp(name + whole - len, part);
	return strstr(name, part) != NULL;
}

static bool fits_id(const char *id, const char *wanted)
{
	return !strncmp(id, wanted, strlen(wanted));
}

static bool fits_status(const char *status, const char *wanted)
{
	return !strcmp(status, wanted);
}

/* Whether one of the filters of a key fits, or there is none, as in docker. */
static bool fits_key(const struct listing *l, const char *key, const char *text,
		     bool (*fits_one)(const char *text, const char *wanted))
{
	const size_t len = strlen(key);
	bool has_any = false;

	for (size_t i = 0; i < l->filters.count; i++) {
		if (strncmp(l->filters.items[i], key, len) != 0)
			continue;
		has_any = true;
		if (fits_one(text, l->filters.items[i] + len))
			return true;
	}
	return !has_any;
}

static bool fits(const struct listing *l, struct json_view info)
{
	AUTO_FREE char *name = text_of(info, "name");
	AUTO_FREE char *id = text_of(info, "id");

	return fits_key(l, "name=", name, fits_name) && fits_key(l, "id=", id, fits_id) &&
	       fits_key(l, "status=", tree_status(info), fits_status);
}

/* Returns "Up 3 minutes" or "Exited (0) 3 minutes ago".  hutch does not tell when a life
 * of the main process ended. */
static char *status_words(struct json_view info)
{
	const char *status = tree_status(info);
	const bool is_ended = !strcmp(status, "exited");
	AUTO_FREE char *since = text_of(info, is_ended ? "exit.ended" : "created");
	AUTO_FREE char *ago = table_age(since, (int64_t)time(NULL));
	const int code = tree_exit_code(info);

	if (is_ended)
		return text_format("Exited (%d) %s", code, ago ? ago : "");
	if (!strcmp(status, "restarting"))
		return text_format("Restarting (%d)", code);
	if (ago && strstr(ago, " ago"))
		*strstr(ago, " ago") = '\0';
	return text_format("%s %s%s", !strcmp(status, "created") ? "Created" : "Up",
			   ago ? ago : "", !strcmp(status, "paused") ? " (Paused)" : "");
}

/* Returns the folders of this host that are shown inside, "/a,/b"; allocated. */
static char *mounts_line(struct json_view info)
{
	struct json_view_place place = { 0 };
	struct list sources = { 0 };

	while (json_view_step(json_view_get(info, "mounts"), &place)) {
		AUTO_FREE char *source = text_of(place.value, "source");
		if (*source)
			list_add(&sources, source);
	}
	char *text = list_join(&sources, 0, ",");
	list_done(&sources);
	return text;
}

/* Returns the main process in quotes, as docker prints it, with at most COMMAND_MAX
 * characters of it unless all are asked for. */
static char *command_words(struct json_view info, bool is_whole)
{
	AUTO_FREE char *command = tree_command(info);
	size_t len = strlen(command);

	if (!is_whole && len > COMMAND_MAX)
		for (len = COMMAND_MAX - 1; len > 0 && (command[len] & 0xc0) == 0x80;)
			len--; /* to the beginning of a character of several bytes */
	AUTO_FREE char *shown =
		text_format("%.*s%s", (int)len, command, command[len] ? "\u2026" : "");
	return json_write_quoted(shown);
}

/* Makes the object that templates of docker ps are about.  docker's has no member Label:
 * only for `{{.Label "KEY"}}` it is there. */
static char *row_of(struct json_view info, bool has_label, bool is_whole)
{
	AUTO_FREE char *id = text_of(info, "id"), *name = text_of(info, "name");
	AUTO_FREE char *image = text_of(info, "image"),
		       *created = text_of(info, "created");
	AUTO_FREE char *ago = table_age(created, (int64_t)time(NULL));
	AUTO_FREE char *status = status_words(info), *ports = tree_ports(info);
	AUTO_FREE char *labels = tree_labels_line(info);
	AUTO_FREE char *command = command_words(info, is_whole);
	AUTO_FREE char *network = text_of(info, "network.mode");
	AUTO_FREE char *mounts = mounts_line(info);
	struct buffer b;

	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_text(&b, "ID", id);
	json_write_text(&b, "Image", image);
	json_write_text(&b, "Command", command);
	json_write_text(&b, "CreatedAt", created);
	json_write_text(&b, "RunningFor", ago ? ago : "");
	json_write_text(&b, "State", tree_status(info));
	json_write_text(&b, "Status", status);
	json_write_text(&b, "Ports", ports);
	json_write_text(&b, "Names", name);
	json_write_text(&b, "Mounts", mounts);
	json_write_text(&b, "Networks", network);
	json_write_text(&b, "Labels", labels);
	if (has_label)
		tree_put_labels(&b, "Label", (struct json_view){ 0 },
				json_view_get(info, "labels"));
	json_write_close(&b, "}");
	return json_write_end(&b);
}

static int print_row(struct listing *l, struct json_view info, struct err *e)
{
	static const char *const keys[] = { "ID",     "Image", "Command", "RunningFor",
					    "Status", "Ports", "Names" };
	const char *template = l->format.template;
	const bool has_label = template && strstr(template, ".Label ");
	AUTO_FREE char *row = row_of(info, has_label, l->is_whole);
	struct json_view view;

	if (l->is_quiet) {
		AUTO_FREE char *id = text_of(info, "id");
		(void)puts(id);
		return 0;
	}
	if (template)
		return list_format_add(&l->format, row, e);
	if (json_view_scan(&view, row, strlen(row), e) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		table_add(&l->table, text_of(view, keys[i]));
	return 0;
}

/* Asks hutch about the sandboxes of its list. */
static char *ask_about(const struct list *listed, struct json_view *ret, struct err *e)
{
	struct list words = { 0 };
	struct json_view_place place = { 0 };
	struct json_view rows;

	AUTO_FREE char *list = describe_ask(listed, &rows, e);
	if (!list)
		return NULL;
	list_add(&words, "inspect");
	while (json_view_step(rows, &place)) {
		/* These are changes that `hutch run` has kept; no sandbox is left. */
		if (json_view_type(json_view_get(place.value, "image")) == JSON_NULL)
			continue;
		const bool is_ended =
			json_view_is(json_view_get(place.value, "state"), "ended");
		AUTO_FREE char *word = text_of(place.value, is_ended ? "id" : "name");
		list_add(&words, word);
	}
	*ret = (struct json_view){ "[]", 2 };
	char *text = words.count > 1 ? describe_ask(&words, ret, e) : text_copy("[]");
	list_done(&words);
	return text;
}

static int print_all(struct listing *l, const struct list *listed, struct err *e)
{
	static const char *const heads[] = { "CONTAINER ID", "IMAGE",  "COMMAND",
					     "CREATED",	     "STATUS", "PORTS",
					     "NAMES" };
	struct json_view_place place = { 0 };
	struct json_view infos;
	int rc = 0;

	AUTO_FREE char *text = ask_about(listed, &infos, e);
	if (!text)
		return -1;
	l->table.columns = ARRAY_LEN(heads);
	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		table_add(&l->table, text_copy(heads[i]));
	while (rc == 0 && json_view_step(infos, &place))
		if (fits(l, place.value))
			rc = print_row(l, place.value, e);
	if (rc == 0 && !l->is_quiet && !l->format.template)
		table_print(&l->table, stdout);
	if (rc == 0 && !l->is_quiet)
		list_format_print(&l->format);
	table_done(&l->table);
	return rc;
}

/* Checks a filter of this file's.  docker takes names for regular expressions; the
 * status of one that has ended is asked for without -a, too. */
static int check_filter(const char *filter, struct list *listed, struct err *e)
{
	static const char *const statuses[] = { "created",  "restarting", "running",
						"removing", "paused",	  "exited",
						"dead" };
	const char *value = strchr(filter, '=') + 1;
	const size_t len = strcspn(value, "\\*+?()[]{}|");

	if (!strncmp(filter, "name=", 5) && value[len])
		return err_set(
			e, ERR_UNSUPPORTED,
			"invalid filter '%.60s': hutch takes a part of a name, with "
			"^ before or $ behind it, and no other regular expression",
			filter);
	if (strncmp(filter, "status=", 7) != 0)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(statuses); i++)
		if (!strcmp(statuses[i], value)) {
			list_add_once(listed, "-a");
			return 0;
		}
	return err_set(e, ERR_USAGE, "invalid filter '%.60s': there is no such status",
		       filter);
}

/* Sorts a filter: hutch ps knows about images and labels, this file about the others. */
static int take_filter(struct listing *l, struct list *listed, const char *filter,
		       struct err *e)
{
	static const char *const ours[] = { "name=", "id=", "status=" };

	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		if (!strncmp(filter, ours[i], strlen(ours[i]))) {
			list_add(&l->filters, filter);
			return check_filter(filter, listed, e);
		}
	if (!strchr(filter, '='))
		return err_set(e, ERR_USAGE,
			       "invalid argument \"%.60s\" for \"-f, --filter\" flag: "
			       "bad format of filter (expected name=value)",
			       filter);
	const bool is_label = !strncmp(filter, "label=", 6);
	if (!is_label && strncmp(filter, "ancestor=", 9) != 0)
		return err_set(e, ERR_UNSUPPORTED,
			       "invalid filter '%.60s': there are ancestor, id, label, "
			       "name and status",
			       filter);
	list_add(listed, "--filter");
	list_addf(listed, "%s%s",
		  is_label ? "" : "image=", is_label ? filter : strchr(filter, '=') + 1);
	return 0;
}

/* The names of a row, and the heads of docker's columns. */
static const struct list_format_head ps_heads[] = {
	{ "ID", "CONTAINER ID" },
	{ "Image", "IMAGE" },
	{ "Command", "COMMAND" },
	{ "Mounts", "MOUNTS" },
	{ "Networks", "NETWORKS" },
	{ "CreatedAt", "CREATED AT" },
	{ "RunningFor", "CREATED" },
	{ "State", "STATE" },
	{ "Status", "STATUS" },
	{ "Ports", "PORTS" },
	{ "Names", "NAMES" },
	{ "Labels", "LABELS" },
	{ NULL, NULL },
};

int ps_verb(char **argv)
{
	struct list given = { 0 }, listed = { 0 };
	struct listing l = { 0 };
	const char *format = NULL;
	bool has_all = false;
	const struct flag flags[] = {
		{ 'a', "all", NULL, "also those that have ended", &has_all, NULL },
		{ 'q', "quiet", NULL, "ids alone", &l.is_quiet, NULL },
		{ 'f', "filter", "KEY=VALUE...", "ancestor, id, label, name or status",
		  NULL, &given },
		{ 0, "format", "TEMPLATE", "json, a template, or table and a template",
		  NULL, &format },
		{ 0, "no-trunc", NULL, "the whole command", &l.is_whole, NULL },
	};
	const struct usage usage = {
		.synopsis = "hutch docker ps [OPTIONS]",
		.about = "Lists containers.",
		.flags = flags,
		.count = ARRAY_LEN(flags),
	};
	int code = verbs_flags(argv, &usage), rc = 0, failed = 1;
	struct err e;

	if (code >= 0)
		return code;
	list_add(&listed, "ps");
	list_add(&listed, "--json");
	if (has_all)
		list_add(&listed, "-a");
	for (size_t i = 0; i < given.count && rc == 0; i++) {
		failed = strchr(given.items[i], '=') ? 1 : EXIT_HUTCH;
		rc = take_filter(&l, &listed, given.items[i], &e);
	}
	if (rc == 0)
		rc = list_format_read(&l.format, format, ps_heads, &e);
	if (rc == 0)
		rc = print_all(&l, &listed, &e);
	list_done(&given);
	list_done(&listed);
	list_done(&l.filters);
	list_format_done(&l.format);
	return rc < 0 ? verbs_fail(&e, failed) : 0;
}
