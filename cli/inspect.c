/* hutch inspect: prints all that is known of sandboxes, as JSON. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/own.h"
#include "cli/common/client.h"
#include "cli/common/flags.h"
#include "cli/common/report.h"
#include "cli/verbs.h"
#include "rootfs-tools/changes/kept_changes.h"
#include "sandbox/launch/result.h"
#include "sandbox/state/saved_spec.h"

#define INDENT 4

/* --- as people read it ----------------------------------------------------- */

static void new_line(FILE *to, unsigned depth)
{
	(void)fprintf(to, "\n%*s", (int)(INDENT * depth), "");
}

/* Prints the string that begins at `at`, which was scanned before; returns the
 * position after it. */
static const char *put_string(FILE *to, const char *at)
{
	const char *end = at + 1;

	while (*end != '"')
		end += *end == '\\' ? 2 : 1;
	(void)fwrite(at, 1, (size_t)(end + 1 - at), to);
	return end + 1;
}

static const char *skip_blanks(const char *at)
{
	return at + strspn(at, " \t\r\n");
}

/* Prints an opening bracket, and an empty object or array on the same line;
 * returns the position after it. */
static const char *put_open(FILE *to, const char *at, unsigned *depth)
{
	const char *next = skip_blanks(at + 1);

	(void)fputc(*at, to);
	if (*next == '}' || *next == ']') {
		(void)fputc(*next, to);
		return next + 1;
	}
	new_line(to, ++*depth);
	return at + 1;
}

static const char *put_token(FILE *to, const char *at, unsigned *depth)
{
	switch (*at) {
	case '"':
		return put_string(to, at);
	case '{':
	case '[':
		return put_open(to, at, depth);
	case '}':
	case ']':
		new_line(to, --*depth);
		(void)fputc(*at, to);
		return at + 1;
	case ',':
		(void)fputc(',', to);
		new_line(to, *depth);
		return at + 1;
	case ':':
		(void)fputs(": ", to);
		return at + 1;
	default:
		(void)fputc(*at, to);
		return at + 1;
	}
}

/* Prints `text`, which is valid JSON, with line ends and indentation. */
static void put_pretty(FILE *to, const char *text)
{
	unsigned depth = 0;

	for (const char *at = skip_blanks(text); *at; at = skip_blanks(at))
		at = put_token(to, at, &depth);
	(void)fputc('\n', to);
}

/* --- one ------------------------------------------------------------------- */

/* Prints the supervisor's information, with the present state, and the record
 * of the end. */
static void put_object(FILE *to, struct json_view info, const char *state,
		       struct json_view record)
{
	struct json_view_place place = { 0 };

	(void)fputc('{', to);
	while (json_view_step(info, &place)) {
		bool is_state = state && json_view_is(place.key, "state");
		(void)fprintf(to, "%.*s:", (int)place.key.len, place.key.text);
		if (is_state)
			(void)fprintf(to, "\"%s\",", state);
		else
			(void)fprintf(to, "%.*s,", (int)place.value.len,
				      place.value.text);
	}
	if (record.text)
		(void)fprintf(to, "\"exit\":%.*s}", (int)record.len, record.text);
	else
		(void)fputs("\"exit\":null}", to);
}

static int put_live(FILE *to, const char *name, struct err *e)
{
	struct client c = { 0 };
	struct json_view info;

	if (client_open(&c, name, e) < 0)
		return -1;
	int rc = client_call(&c, "info", NULL, &info, e);
	if (rc == 0)
		put_object(to, info, NULL, (struct json_view){ 0 });
	client_done(&c);
	return rc;
}

/* Prints a kept sandbox without a record of its end. */
static int put_kept(FILE *to, const char *name)
{
	struct saved_spec d;

	if (saved_spec_find(name, &d, NULL) < 0)
		return -1;
	AUTO_FREE char *image = json_write_quoted(d.image);
	AUTO_FREE char *created = json_write_quoted(d.created);
	AUTO_FREE char *labels = saved_spec_labels(&d);
	(void)fprintf(to,
		      "{\"name\":\"%s\",\"id\":\"%s\",\"image\":%s,\"state\":\"%s\","
		      "\"created\":%s,\"labels\":%s,\"exit\":null}",
		      d.name, d.id, image, registry_status_name(REGISTRY_ENDED), created,
		      labels ? labels : "null");
	saved_spec_done(&d);
	return 0;
}

static void put_folders(struct buffer *b, const struct cow *c)
{
	json_write_open(b, "mounts", "[");
	for (size_t i = 0; i < c->count; i++) {
		json_write_open(b, NULL, "{");
		json_write_text(b, "source", c->folders[i].source);
		json_write_text(b, "target", c->folders[i].target);
		json_write_text(b, "mode", "cow");
		json_write_close(b, "}");
	}
	json_write_close(b, "]");
}

/* Prints an ended sandbox of which only its changes are kept, as a launch without a
 * place in the registry leaves them. */
static int put_changed(FILE *to, const char *name)
{
	struct buffer b;
	struct cow c;

	if (cow_find(name, &c, NULL) < 0)
		return -1;
	if (c.is_live) {
		cow_done(&c);
		return -1;
	}
	AUTO_FREE char *started = kept_changes_started(&c);
	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_text(&b, "name", c.name);
	json_write_text(&b, "id", c.id);
	json_write_text(&b, "state", registry_status_name(REGISTRY_ENDED));
	json_write_text(&b, "created", started);
	json_write_text(&b, "workspace", c.folders[0].source);
	put_folders(&b, &c);
	json_write_raw(&b, "exit", "null");
	json_write_close(&b, "}");
	AUTO_FREE char *text = json_write_end(&b);
	(void)fputs(text, to);
	cow_done(&c);
	return 0;
}

static int put_ended(FILE *to, const char *name, struct err *e)
{
	struct registry_item item;
	struct json_view info = { 0 }, record = { 0 };

	if (registry_find_ended(name, &item, e) < 0) {
		if (e->kind != ERR_NOT_FOUND)
			return -1;
		bool is_put = put_kept(to, name) == 0 || put_changed(to, name) == 0;
		return is_put ? 0 : client_absent(name, e);
	}
	if (item.info)
		(void)json_view_scan(&info, item.info, strlen(item.info), NULL);
	if (item.record)
		(void)json_view_scan(&record, item.record, strlen(item.record), NULL);
	put_object(to, info, registry_status_name(REGISTRY_ENDED), record);
	registry_item_done(&item);
	return 0;
}

static int put_one(FILE *to, const char *name, struct err *e)
{
	if (put_live(to, name, e) == 0)
		return 0;
	return e->kind == ERR_NOT_FOUND ? put_ended(to, name, e) : -1;
}

/* Prints the array of all sandboxes; a sandbox that could not be read is left out,
 * and its error was printed before. */
static int put_all(FILE *to, char *const *names)
{
	const char *between = "";
	struct err e;
	int code = 0;

	(void)fputc('[', to);
	for (; *names; names++) {
		char *text = NULL;
		size_t len = 0;
		FILE *one = open_memstream(&text, &len);
		int rc = one ? put_one(one, *names, &e) : -1;
		if (!one || fclose(one) != 0)
			abort();
		if (rc == 0) {
			(void)fprintf(to, "%s%s", between, text);
			between = ",";
		} else {
			report_error(&e);
			code = EXIT_HUTCH;
		}
		free(text);
	}
	(void)fputc(']', to);
	return code;
}

int inspect_main(char **argv)
{
	static const struct usage usage = {
		.synopsis = "hutch inspect NAME...",
		.about = "Prints all that is known of sandboxes, live or ended, as a "
			 "JSON array.",
		.operands_min = 1, .operands_max = SIZE_MAX,
	};
	enum flags_result got = flags_begin(argv, &usage);
	char *text = NULL;
	size_t len = 0;

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	FILE *to = open_memstream(&text, &len);
	if (!to)
		abort();
	int code = put_all(to, argv);
	if (fclose(to) != 0)
		abort();
	put_pretty(stdout, text);
	free(text);
	return code;
}
