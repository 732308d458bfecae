#include "cli/ps_row.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/nearest.h"
#include "base/own.h"
#include "base/term_escape.h"
#include "cli/common/table.h"
#include "cli/stats_poll.h"
#include "sandbox/state/registry.h"

#define IMAGE_WIDTH 30

/* --- for programs ---------------------------------------------------------- */

/* Prints a value unchanged; null where there is none. */
static void print_value(const char *key, struct json_view v)
{
	if (v.text)
		(void)printf(",\"%s\":%.*s", key, (int)v.len, v.text);
	else
		(void)printf(",\"%s\":null", key);
}

static void print_count(const char *key, int64_t count)
{
	if (count >= 0)
		(void)printf(",\"%s\":%lld", key, (long long)count);
	else
		(void)printf(",\"%s\":null", key);
}

static void print_object(const struct row *r)
{
	const struct sample unknown = { .memory = -1, .pids = -1 };
	const struct sample *used = r->used ? r->used : &unknown;
	AUTO_FREE char *name = json_write_quoted(r->item->name);

	(void)printf("{\"name\":%s,\"id\":\"%s\"", name, r->item->id);
	print_value("image", json_view_get(r->info, "image"));
	(void)printf(",\"state\":\"%s\"", registry_status_name(r->item->status));
	print_value("created", json_view_get(r->info, "created"));
	if (used->is_known)
		(void)printf(",\"cpu_s\":%.3f", used->cpu_s);
	else
		(void)printf(",\"cpu_s\":null");
	print_count("memory_bytes", used->memory);
	print_count("pids", used->pids);
	print_value("isolation", json_view_get(r->info, "isolation"));
	print_value("workspace", json_view_get(r->info, "workspace"));
	print_value("exit", r->record);
	(void)printf("}");
}

static void print_json(const struct row *rows, size_t count)
{
	(void)printf("[");
	for (size_t i = 0; i < count; i++) {
		if (i)
			(void)printf(",");
		print_object(&rows[i]);
	}
	(void)printf("]\n");
}

/* --- columns ---------------------------------------------------------------------- */

static char *name_of(const struct row *r)
{
	return text_copy(r->item->name);
}

static char *id_of(const struct row *r)
{
	return text_copy(r->item->id);
}

static char *image_of(const struct row *r)
{
	return json_view_string(json_view_get(r->info, "image"));
}

static char *state_of(const struct row *r)
{
	const char *state = registry_status_name(r->item->status);
	AUTO_FREE char *reason = json_view_string(json_view_get(r->record, "reason"));

	const char *kept = r->is_kept && r->item->status == REGISTRY_ENDED ? ", kept"
									   : "";

	if (r->item->is_waiting)
		return text_format("%s (in a pool)", state);
	return reason ? text_format("%s (%s)%s", state, reason, kept)
		      : text_format("%s%s", state, kept);
}

static char *created_of(const struct row *r)
{
	return json_view_string(json_view_get(r->info, "created"));
}

static char *pids_of(const struct row *r)
{
	bool is_known = r->used && r->used->pids >= 0;

	return is_known ? text_format("%lld", (long long)r->used->pids) : NULL;
}

static char *memory_of(const struct row *r)
{
	bool is_known = r->used && r->used->memory >= 0;

	return is_known ? table_bytes((uint64_t)r->used->memory) : NULL;
}

static char *changes_of(const struct row *r)
{
	return r->changes >= 0 ? table_bytes((uint64_t)r->changes) : NULL;
}

static char *folder_of(const struct row *r)
{
	return json_view_string(json_view_get(r->info, "workspace"));
}

/* Steps to the next label; `key` and `value` are allocated texts. */
static bool step_label(const struct row *r, struct json_view_place *at, char **key,
		       char **value)
{
	if (!json_view_step(json_view_get(r->info, "labels"), at))
		return false;
	*key = json_view_string(at->key);
	*value = json_view_string(at->value);
	return *key && *value;
}

/* Returns the value of a label, allocated; NULL: there is none. */
static char *label_of(const struct row *r, const char *wanted)
{
	struct json_view_place at = { 0 };
	char *key = NULL, *value = NULL, *found = NULL;

	while (!found && step_label(r, &at, &key, &value)) {
		if (!strcmp(key, wanted))
			found = text_copy(value);
		own_free(&key);
		own_free(&value);
	}
	return found;
}

static char *labels_of(const struct row *r)
{
	struct json_view_place at = { 0 };
	struct list labels = { 0 };
	char *key = NULL, *value = NULL;

	for (; step_label(r, &at, &key, &value); own_free(&key), own_free(&value))
		list_addf(&labels, "%s=%s", key, value);
	char *text = list_join(&labels, 0, ",");
	list_done(&labels);
	return text;
}

static const struct column {
	const char *head, *name;	    /* in the table, where NULL stands for none,
					     * and in a format */
	char *(*text)(const struct row *r); /* allocated; NULL: not known */
	bool is_of_ended;		    /* the table has the column only with --all */
} columns[] = {
	{ "NAME", "Name", name_of, false },
	{ "ID", "ID", id_of, false },
	{ "IMAGE", "Image", image_of, false },
	{ "STATE", "State", state_of, false },
	{ "CREATED", "Created", created_of, false },
	{ "PIDS", "Pids", pids_of, false },
	{ "MEMORY", "Memory", memory_of, false },
	{ "CHANGES", "Changes", changes_of, true },
	{ "FOLDER", "Folder", folder_of, true },
	{ NULL, "Labels", labels_of, false },
};

static bool is_in_table(const struct column *c, const struct ps_options *o)
{
	return c->head && (o->has_all || !c->is_of_ended);
}

/* Returns the text of a cell as people read it, allocated; NULL: not known. */
static char *cell(const struct row *r, const struct column *c, bool is_whole, int64_t now)
{
	char *text = c->text(r);

	if (c->text == created_of) {
		char *age = table_age(text, now);
		free(text);
		return age;
	}
	if (c->text == image_of && text && !is_whole && strlen(text) > IMAGE_WIDTH)
		memcpy(text + IMAGE_WIDTH - 3, "...", 4);
	if (c->text == folder_of && !is_whole) {
		char *path = table_path(text);
		free(text);
		return path;
	}
	return text;
}

/* Returns whether two sandboxes have one name, so that their ids alone tell them apart.
 * Behind the live sandboxes, whose names differ, come those that have ended. */
static bool has_namesakes(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t k = count;
		     k-- > i + 1 && rows[k].item->status == REGISTRY_ENDED;)
			if (!strcmp(rows[i].item->name, rows[k].item->name))
				return true;
	return false;
}

static void print_table(const struct row *rows, size_t count, const struct ps_options *o,
			int64_t now)
{
	const char *const spare[] = { "PIDS", "MEMORY", "IMAGE",
				      has_namesakes(rows, count) ? "CHANGES" : "ID",
				      NULL };
	struct table t = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		if (is_in_table(&columns[i], o)) {
			table_add(&t, text_copy(columns[i].head));
			t.columns++;
		}
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < ARRAY_LEN(columns); k++)
			if (is_in_table(&columns[k], o))
				table_add(&t,
					  cell(&rows[i], &columns[k], o->is_whole, now));
	if (!o->is_whole)
		table_fit(&t, table_screen(), spare, "FOLDER");
	table_print(&t, stdout);
	table_done(&t);
}

/* --- a format --------------------------------------------------------------------- */

static bool is_json_lines(const char *format)
{
	return !strcmp(format, "json") || !strcmp(format, "{{json .}}");
}

/* Reads "{{.NAME}}" at `at`, blanks allowed as in {{ .NAME }}.  Returns its length, or
 * 0: no column has that name. */
static size_t take_column(const char *at, const struct column **ret)
{
	const char *name = at + 2 + strspn(at + 2, " ");

	for (size_t i = 0; *name == '.' && i < ARRAY_LEN(columns); i++) {
		size_t len = strlen(columns[i].name);
		if (strncmp(name + 1, columns[i].name, len) != 0)
			continue;
		const char *end = name + 1 + len + strspn(name + 1 + len, " ");
		if (strncmp(end, "}}", 2) != 0)
			continue;
		*ret = &columns[i];
		return (size_t)(end + 2 - at);
	}
	return 0;
}

/* Reads "{{.Label "KEY"}}" at `at`, with blanks as above.  Returns its length, or 0: it
 * is something else. */
static size_t take_label(const char *at, char **ret_key)
{
	static const char begin[] = ".Label", end[] = "}}";
	const char *name = at + 2 + strspn(at + 2, " ");
	const char *quote = name + strlen(begin);

	if (strncmp(name, begin, strlen(begin)) != 0)
		return 0;
	quote += strspn(quote, " ");
	const char *last = *quote == '"' ? strchr(quote + 1, '"') : NULL;
	if (!last)
		return 0;
	const char *close = last + 1 + strspn(last + 1, " ");
	if (strncmp(close, end, strlen(end)) != 0)
		return 0;
	*ret_key = text_format("%.*s", (int)(last - quote - 1), quote + 1);
	return (size_t)(close - at) + strlen(end);
}

/* Reads a place of the format that stands for a text of the row.  Returns its length, or
 * 0: it is no such place; *ret gets the text, allocated, if there is a row. */
static size_t take_place(const char *at, const struct row *r, int64_t now, char **ret)
{
	AUTO_FREE char *key = NULL;
	const struct column *c = NULL;

	size_t len = take_column(at, &c);
	if (len && r)
		*ret = cell(r, c, true, now);
	if (len)
		return len;
	len = take_label(at, &key);
	if (len && r)
		*ret = label_of(r, key);
	if (len && r && !*ret)
		*ret = text_copy("");
	return len;
}

/* Prints one byte of a format, or the escape sequence that begins there.  Returns its
 * length. */
static size_t print_byte(const char *at)
{
	bool is_tab = !strncmp(at, "\\t", 2), is_line = !strncmp(at, "\\n", 2);

	(void)putchar(is_tab ? '\t' : is_line ? '\n' : *at);
	return is_tab || is_line ? 2 : 1;
}

static void print_line(const struct row *r, const struct ps_options *o, int64_t now)
{
	for (const char *at = o->format; *at;) {
		AUTO_FREE char *text = NULL;
		size_t len = strncmp(at, "{{", 2) ? 0 : take_place(at, r, now, &text);
		if (!len) {
			at += print_byte(at);
			continue;
		}
		AUTO_FREE char *shown = term_escape_line(text ? text : "-");
		(void)fputs(shown, stdout);
		at += len;
	}
	(void)putchar('\n');
}

static void print_format(const struct row *rows, size_t count, const struct ps_options *o,
			 int64_t now)
{
	for (size_t i = 0; i < count; i++)
		if (is_json_lines(o->format)) {
			print_object(&rows[i]);
			(void)putchar('\n');
		} else {
			print_line(&rows[i], o, now);
		}
}

static int check_format(const char *format, struct err *e)
{
	if (is_json_lines(format))
		return 0;
	if (!strncmp(format, "table", strlen("table"))) {
		(void)err_set(e, ERR_USAGE, "--format: there is no form 'table'");
		return err_remedy(e,
				  "leave --format out for a table, or 'table' for lines");
	}
	for (const char *at = format; (at = strstr(at, "{{")); at += 2)
		if (!take_place(at, NULL, 0, NULL)) {
			(void)err_set(e, ERR_USAGE, "--format: no column is called %.*s",
				      (int)strcspn(at, "}") + 2, at);
			return err_remedy(
				e,
				"json, or a text with {{.Name}} {{.ID}} {{.Image}} "
				"{{.State}} {{.Created}} {{.Pids}} {{.Memory}} "
				"{{.Changes}} {{.Folder}} {{.Labels}} {{.Label \"KEY\"}}");
		}
	return 0;
}

/* --- filters ---------------------------------------------------------------------- */

static char *status_of(const struct row *r)
{
	return text_copy(registry_status_name(r->item->status));
}

static const struct filter {
	const char *key;
	char *(*text)(const struct row *r);
	bool is_part; /* the value is a part of the text, not all of it */
	bool is_label; /* the value is KEY or KEY=VALUE, and each such filter must fit */
} filters_known[] = {
	{ "name", name_of, true, false },      { "id", id_of, true, false },
	{ "image", image_of, false, false },   { "state", status_of, false, false },
	{ "status", status_of, false, false }, { "folder", folder_of, false, false },
	{ "label", labels_of, false, true },
};

static const struct filter *find_filter(const char *word)
{
	size_t len = strcspn(word, "=");

	for (size_t i = 0; word[len] && i < ARRAY_LEN(filters_known); i++)
		if (strlen(filters_known[i].key) == len &&
		    !strncmp(filters_known[i].key, word, len))
			return &filters_known[i];
	return NULL;
}

/* Returns whether the sandbox has the label KEY, or KEY=VALUE. */
static bool has_label(const struct row *r, const char *wanted)
{
	const char *value = strchr(wanted, '=');
	AUTO_FREE char *key = text_format("%.*s", (int)strcspn(wanted, "="), wanted);
	AUTO_FREE char *found = label_of(r, key);

	return found && (!value || !strcmp(found, value + 1));
}

static bool fits(const struct row *r, const char *word)
{
	const struct filter *f = find_filter(word);
	const char *value = strchr(word, '=') + 1;

	if (f->is_label)
		return has_label(r, value);
	AUTO_FREE char *text = f->text(r);

	if (!text)
		return false;
	return f->is_part ? strstr(text, value) != NULL : !strcmp(text, value);
}

bool ps_row_fits(const struct row *r, const struct list *filters)
{
	for (size_t i = 0; i < filters->count; i++) {
		const struct filter *f = find_filter(filters->items[i]);
		bool is_fit = f->is_label && fits(r, filters->items[i]);
		for (size_t k = 0; k < filters->count && !is_fit && !f->is_label; k++)
			is_fit = find_filter(filters->items[k])->text == f->text &&
				 fits(r, filters->items[k]);
		if (!is_fit)
			return false;
	}
	return true;
}

/* Checks that a filter by state names a state, which would else fit no sandbox. */
static int check_state(const char *word, struct err *e)
{
	const char *value = strchr(word, '=') + 1;
	struct nearest n;

	if (find_filter(word)->text != status_of)
		return 0;
	nearest_init(&n, value, strlen(value));
	for (enum registry_status i = 0; i < REGISTRY_STATUS_COUNT; i++) {
		if (!strcmp(registry_status_name(i), value))
			return 0;
		nearest_try(&n, registry_status_name(i));
	}
	(void)err_set(e, ERR_USAGE, "--filter: there is no state '%.60s'", value);
	(void)nearest_suggest(&n, "", e);
	return err_remedy(
		e, "building, starting, started, ready, paused, stopping, ended, error "
		   "or disconnected");
}

int ps_check(const struct ps_options *o, struct err *e)
{
	for (size_t i = 0; i < o->filters.count; i++) {
		if (find_filter(o->filters.items[i])) {
			if (check_state(o->filters.items[i], e) < 0)
				return -1;
			continue;
		}
		(void)err_set(e, ERR_USAGE, "--filter: '%.60s' is no filter",
			      o->filters.items[i]);
		return err_remedy(
			e, "name=PART, id=PART, image=REF, state=STATE, folder=DIR, "
			   "label=KEY or label=KEY=VALUE");
	}
	return o->format ? check_format(o->format, e) : 0;
}

/* --- all -------------------------------------------------------------------------- */

/* Prints for each sandbox the word that other verbs take: a live one's name, or an
 * ended one's id, since several may have had its name. */
static void print_names(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		(void)puts(rows[i].record.text ? rows[i].item->id : rows[i].item->name);
}

void ps_print(const struct row *rows, size_t count, const struct ps_options *o,
	      int64_t now)
{
	if (o->is_quiet)
		print_names(rows, count);
	else if (o->is_json)
		print_json(rows, count);
	else if (o->format)
		print_format(rows, count, o, now);
	else
		print_table(rows, count, o, now);
}
