/* hutch audit show: prints the log, a line for each entry. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/note.h"
#include "base/own.h"
#include "base/term_escape.h"
#include "cli/audit.h"
#include "cli/common/flags.h"
#include "cli/common/json_view.h"
#include "cli/common/report.h"
#include "policy/units.h"
#include "sandbox/launch/result.h"
#include "store/ledger.h"
#include "store/ledger_walk.h"

/* the longest value on a human-readable line, in bytes; --json prints longer ones */
#define VALUE_MAX 200
#define SINCE_MAX 32

struct shown {
	bool is_json;
	char since[SINCE_MAX]; /* --since: a time or the beginning of a time; "": all
				* entries */
	const char *sandbox;   /* a sandbox's name or id; NULL: the entries of all
				* sandboxes */
};

/* --- an entry ----------------------------------------------------------------------- */

/* Returns whether a human-readable line leaves this member out: the line begins with
 * its value, the member belongs to the log's format, or it is the policy, which is
 * long. */
static bool is_passed_over(struct json_view key)
{
	static const char *const keys[] = { "v",     "prev",	"seq",	"time",
					    "event", "sandbox", "name", "policy" };

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (json_view_is(key, keys[i]))
			return true;
	return false;
}

/* Prints " KEY=VALUE", the value as JSON. */
static void print_member(const struct json_view_place *place)
{
	const char *text = place->value.text;
	size_t len = place->value.len;
	bool is_cut = len > VALUE_MAX;

	if (is_cut)
		for (len = VALUE_MAX;
		     len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80;)
			len--;
	AUTO_FREE char *value = text_format(" %.*s=%.*s%s", (int)place->key.len - 2,
					    place->key.text + 1, (int)len, text,
					    is_cut ? "..." : "");
	AUTO_FREE char *safe = term_escape_line(value);
	(void)fputs(safe, stdout);
}

static void print_line(struct json_view entry, const struct ledger_entry *head)
{
	struct json_view_place place = { 0 };
	AUTO_FREE char *name = json_view_string(json_view_get(entry, "name"));
	AUTO_FREE char *id = json_view_string(json_view_get(entry, "sandbox"));
	AUTO_FREE char *front = text_format("%.*s %s %.*s", (int)head->time_len,
					    head->time,
					    name ? name
					    : id ? id
						 : "-",
					    (int)head->event_len, head->event);
	AUTO_FREE char *safe = term_escape_line(front);

	(void)fputs(safe, stdout);
	while (json_view_step(entry, &place))
		if (!is_passed_over(place.key))
			print_member(&place);
	(void)putchar('\n');
}

/* Prints the entry's text; on a terminal, control characters in the text are made
 * visible. */
static void print_json(const struct ledger_line *line)
{
	if (!isatty(1)) {
		(void)fwrite(line->text, 1, line->len, stdout);
		return;
	}
	AUTO_FREE char *text = text_format("%.*s", (int)line->len - 1, line->text);
	AUTO_FREE char *safe = term_escape_line(text);
	(void)puts(safe);
}

static bool is_wanted(const struct shown *s, struct json_view entry,
		      const struct ledger_entry *head)
{
	size_t len = strlen(s->since);

	if (len > head->time_len)
		len = head->time_len;
	if (memcmp(head->time, s->since, len) < 0)
		return false;
	return !s->sandbox || json_view_is(json_view_get(entry, "name"), s->sandbox) ||
	       json_view_is(json_view_get(entry, "sandbox"), s->sandbox);
}

static void show(const struct shown *s, const struct ledger_line *line)
{
	struct ledger_entry head;
	struct json_view entry;

	if (!ledger_read_entry(line->text, line->len, &head) ||
	    json_view_scan(&entry, line->text, line->len - 1, NULL) < 0) {
		note_print("note: log.%u:%llu is no entry", line->file,
			   (unsigned long long)line->number);
		return;
	}
	if (!is_wanted(s, entry, &head))
		return;
	if (s->is_json)
		print_json(line);
	else
		print_line(entry, &head);
}

/* --- the verb ----------------------------------------------------------------------- */

/* Reads the value of --since: a time such as "2026-11-22" or "2026-11-22T10:30", or
 * an age such as "10m". */
static int read_since(const char *text, struct shown *ret, time_t now, struct err *e)
{
	struct tm tm;
	uint64_t ms;

	if (!text)
		return 0;
	size_t len = strlen(text);
	if (len >= 4 && len < SINCE_MAX && strspn(text, "0123456789") == 4 &&
	    (!text[4] || text[4] == '-') && strspn(text, "0123456789-T:.Z") == len) {
		memcpy(ret->since, text, len + 1);
		return 0;
	}
	if (units_parse_duration(text, &ms, e) < 0) {
		(void)err_set(e, ERR_USAGE,
			      "--since takes a time such as 2026-11-22T10:30, in UTC, "
			      "or how long ago, such as 10m, not '%.60s'",
			      text);
		return -1;
	}
	time_t then = now - (time_t)(ms / 1000);
	(void)gmtime_r(&then, &tm);
	(void)strftime(ret->since, sizeof(ret->since), "%Y-%m-%dT%H:%M:%S", &tm);
	return 0;
}

static int show_all(const struct shown *s, const char *folder, struct err *e)
{
	struct ledger_walk w;
	struct ledger_line line;
	int more = audit_walk_begin(&w, folder, e);

	while (more >= 0 && (more = ledger_walk_next(&w, &line, e)) > 0) {
		show(s, &line);
		if (ferror(stdout))
			more = report_unwritten(e);
	}
	ledger_walk_done(&w);
	if (more == 0 && report_flush() < 0)
		return report_unwritten(e);
	return more;
}

int audit_show_main(char **argv)
{
	struct shown s = { .is_json = false };
	const char *since = NULL;
	const struct flag flags[] = {
		{ 0, "json", NULL, "the lines as they are", &s.is_json, NULL },
		{ 0, "since", "TIME", "since then, or since 10m ago", NULL, &since },
		{ 0, "sandbox", "NAME", "of this sandbox, by name or id", NULL,
		  &s.sandbox },
	};
	const struct usage usage = {
		.synopsis =
			"hutch audit show [--json] [--since TIME] [--sandbox NAME] [DIR]",
		.about = "Prints the audit log, a line for each entry.",
		.flags = flags,
		.count = ARRAY_LEN(flags),
		.operands_max = 1,
	};
	struct err e;
	enum flags_result got = flags_begin(argv, &usage);

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	if (read_since(since, &s, time(NULL), &e) == 0 && show_all(&s, argv[0], &e) == 0)
		return 0;
	report_error(&e);
	return EXIT_HUTCH;
}
