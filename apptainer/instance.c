/* apptainer instance start, list, stop: sandboxes with a name, which have the label that
 * says so. */
#include <fnmatch.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "apptainer/action_args.h"
#include "apptainer/inside.h"
#include "apptainer/launch.h"
#include "apptainer/source.h"
#include "apptainer/verbs.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/own.h"
#include "cli/common/table.h"
#include "docker/describe.h"
#include "docker/verb.h"
#include "policy/units.h"
#include "sandbox/state/registry.h"

/* --- start ------------------------------------------------------------------------- */

static int start_instance(char **argv, struct action *a, struct err *e)
{
	struct source source = { 0 };
	struct list words = { 0 };
	const struct launch l = { .kind = LAUNCH_INSTANCE,
				  .source = &source,
				  .shown = argv[0],
				  .command = argv + 1 };

	if (registry_check_name(argv[1], e) < 0)
		return -1;
	int rc = argv[2] ? err_set(e, ERR_UNSUPPORTED,
				   "instance start %.60s: hutch runs no startscript, and "
				   "takes no words for one; apptainer exec "
				   "instance://%.60s starts processes",
				   argv[1], argv[1])
			 : source_read(argv[0], &source, e);
	if (rc == 0 && source.kind == SOURCE_INSTANCE)
		rc = err_set(e, ERR_USAGE, "an instance is no image");
	if (rc == 0)
		rc = launch_words(&l, a, &words, e);
	if (rc == 0)
		rc = verb_run(&words, VERB_DROP, NULL, e);
	if (rc == 0)
		verbs_info("instance started successfully");
	list_done(&words);
	source_done(&source);
	return rc > 0 ? EXIT_FATAL : rc;
}

static int start_main(char **argv)
{
	struct action a = { 0 };
	size_t count = 0;
	struct err e;

	if (action_args_help(argv, "instance start", "IMAGE NAME"))
		return 0;
	int rc = action_args_read(&argv, "instance start", &a, &e);
	while (rc == 0 && argv[count])
		count++;
	if (rc == 0)
		rc = count < 2 ? verbs_count_fails("instance start", 2, count)
			       : start_instance(argv, &a, &e);
	if (rc < 0)
		rc = verbs_fail("instance start", &a.args, &e);
	action_done(&a);
	return rc;
}

/* --- list -------------------------------------------------------------------------- */

/* A live instance. */
struct row {
	char *name, *image; /* owned */
	int64_t pid;
};

typedef int each(void *arg, const struct row *row, struct err *e);

static int visit_one(const char *name, each *visit, void *arg, struct err *e)
{
	struct json_view info;
	struct row row = { .name = text_copy(name) };

	AUTO_FREE char *text = inside_find(name, &info, e);
	int rc = text ? 0 : e->kind == ERR_NOT_FOUND ? 1 : -1; /* 1: it has ended */
	if (rc == 0) {
		row.image = inside_image(info);
		(void)json_view_integer(json_view_get(info, "pid"), &row.pid);
		rc = visit(arg, &row, e);
	}
	own_free(&row.name);
	own_free(&row.image);
	return rc < 0 ? -1 : 0;
}

/* Visits the live instances whose names match the pattern. */
static int visit_all(const char *pattern, each *visit, void *arg, struct err *e)
{
	struct json_view_place place = { 0 };
	struct json_view boxes;
	struct list words = { 0 };
	int rc = 0;

	list_add(&words, "ps");
	list_add(&words, "--json");
	list_add(&words, "--filter");
	list_add(&words, "label=" LABEL_IMAGE);
	AUTO_FREE char *text = describe_ask(&words, &boxes, e);
	list_done(&words);
	if (!text)
		return -1;
	while (rc == 0 && json_view_step(boxes, &place)) {
		AUTO_FREE char *name =
			json_view_string(json_view_get(place.value, "name"));
		if (name && fnmatch(pattern, name, 0) == 0)
			rc = visit_one(name, visit, arg, e);
	}
	return rc;
}

struct listing {
	bool is_json;
	struct buffer json;
	struct table table;
};

static int list_one(void *arg, const struct row *row, struct err *e)
{
	struct listing *l = arg;

	(void)e;
	if (!l->is_json) {
		table_add(&l->table, text_copy(row->name));
		table_add(&l->table, text_format("%lld", (long long)row->pid));
		table_add(&l->table, text_copy(""));
		table_add(&l->table, text_copy(row->image));
		return 0;
	}
	json_write_open(&l->json, NULL, "{");
	json_write_text(&l->json, "instance", row->name);
	json_write_number(&l->json, "pid", (uint64_t)row->pid);
	json_write_text(&l->json, "img", row->image);
	json_write_text(&l->json, "ip", "");
	json_write_text(&l->json, "logErrPath", "");
	json_write_text(&l->json, "logOutPath", "");
	json_write_close(&l->json, "}");
	return 0;
}

static int take_json(struct args *a, const char *value, struct err *e)
{
	(void)value, (void)e;
	a->format = "json";
	return 0;
}

static const struct arg list_rows[] = {
	VERBS_GLOBAL_FLAGS,
	{ 'j', "json", false, NULL, take_json, NULL },
	{ 'a', "all", false, NULL, NULL, NULL },
	{ 'l', "logs", false, NULL, NULL, "hutch logs NAME prints what there is" },
	{ 'u', "user", true, NULL, NULL,
	  "hutch lists the sandboxes of the caller alone" },
};
static const struct arg_table list_table = { "apptainer", "instance list", list_rows,
					     ARRAY_LEN(list_rows) };

static int print_list(const char *pattern, bool is_json, struct err *e)
{
	static const char *const heads[] = { "INSTANCE NAME", "PID", "IP", "IMAGE" };
	struct listing l = { .is_json = is_json, .table = { .columns = 4 } };

	json_write_begin(&l.json);
	json_write_open(&l.json, NULL, "{");
	json_write_open(&l.json, "instances", "[");
	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		table_add(&l.table, text_copy(heads[i]));
	int rc = visit_all(pattern, list_one, &l, e);
	json_write_close(&l.json, "]}\n");
	AUTO_FREE char *text = json_write_end(&l.json);
	if (rc == 0 && is_json)
		(void)fputs(text, stdout);
	else if (rc == 0)
		table_print(&l.table, stdout);
	table_done(&l.table);
	return rc;
}

static int list_main(char **argv)
{
	struct list operands = { 0 };
	struct args a = { 0 };
	struct err e;

	if (args_help(argv, &list_table, "[NAME]"))
		return 0;
	int rc = args_read_all(argv, &list_table, &a, &operands, &e);
	if (rc == 0 && operands.count > 1) {
		a.is_misread = true;
		rc = err_set(&e, ERR_USAGE, "it takes one name, or a pattern");
	}
	if (rc == 0)
		rc = print_list(operands.count ? operands.items[0] : "*", a.format, &e);
	if (rc < 0)
		rc = verbs_fail("instance list", &a, &e);
	args_done(&a);
	list_done(&operands);
	return rc;
}

/* --- stop -------------------------------------------------------------------------- */

struct stopping {
	const struct args *args; /* borrowed */
	size_t count;
};

static int stop_one(void *arg, const struct row *row, struct err *e)
{
	struct stopping *s = arg;
	struct list words = { 0 };

	verbs_info("Stopping %s instance of %s (PID=%lld)", row->name, row->image,
		   (long long)row->pid);
	list_add(&words, "stop");
	for (size_t i = 0; i < s->args->words.count; i++)
		list_add(&words, s->args->words.items[i]);
	list_add(&words, row->name);
	int code = verb_run(&words, VERB_DROP, NULL, e);
	list_done(&words);
	s->count++;
	return code > 0 ? err_set(e, ERR_SYSTEM, "could not stop %.60s", row->name)
			: code;
}

static int take_all(struct args *a, const char *value, struct err *e)
{
	(void)value, (void)e;
	a->filter = "*";
	return 0;
}

static int take_force(struct args *a, const char *value, struct err *e)
{
	(void)value, (void)e;
	list_add(&a->words, "-t");
	list_add(&a->words, "0");
	return 0;
}

static int take_signal(struct args *a, const char *value, struct err *e)
{
	static const char *const terms[] = { "TERM", "SIGTERM", "15" };

	for (size_t i = 0; i < ARRAY_LEN(terms); i++)
		if (!strcasecmp(terms[i], value))
			return 0;
	if (!strcasecmp(value, "KILL") || !strcasecmp(value, "SIGKILL") ||
	    !strcmp(value, "9"))
		return take_force(a, NULL, e);
	return err_set(e, ERR_UNSUPPORTED,
		       "--signal %.30s: an instance ends by TERM, or by KILL", value);
}

/* The seconds are judged here, since there may be no instance to stop. */
static int take_timeout(struct args *a, const char *value, struct err *e)
{
	uint64_t seconds;

	if (units_parse_number(value, &seconds, e) < 0)
		return err_in(e, "--timeout");
	list_add(&a->words, "-t");
	list_add(&a->words, value);
	return 0;
}

static const struct arg stop_rows[] = {
	VERBS_GLOBAL_FLAGS,
	{ 'a', "all", false, NULL, take_all, NULL },
	{ 'F', "force", false, NULL, take_force, NULL },
	{ 's', "signal", true, NULL, take_signal, NULL },
	{ 't', "timeout", true, NULL, take_timeout, NULL },
	{ 'u', "user", true, NULL, NULL,
	  "hutch stops the sandboxes of the caller alone" },
};
static const struct arg_table stop_table = { "apptainer", "instance stop", stop_rows,
					     ARRAY_LEN(stop_rows) };

static int stop_main(char **argv)
{
	struct list operands = { 0 };
	struct args a = { 0 };
	struct stopping s = { .args = &a };
	struct err e;

	if (args_help(argv, &stop_table, "NAME"))
		return 0;
	int rc = args_read_all(argv, &stop_table, &a, &operands, &e);
	if (rc == 0 && operands.count + (a.filter ? 1 : 0) != 1) {
		a.is_misread = true;
		rc = err_set(&e, ERR_USAGE, "it takes one name, or a pattern, or --all");
	}
	const char *pattern = a.filter	       ? a.filter
			      : operands.count ? operands.items[0]
					       : "";
	if (rc == 0)
		rc = visit_all(pattern, stop_one, &s, &e);
	if (rc == 0 && s.count == 0)
		rc = err_set(&e, ERR_NOT_FOUND, "no instance found with name %.100s",
			     pattern);
	if (rc < 0)
		rc = verbs_fail("instance stop", &a, &e);
	args_done(&a);
	list_done(&operands);
	return rc;
}

/* ----------------------------------------------------------------------------------- */

int instance_verb(char **argv)
{
	static const struct {
		const char *name;
		int (*main)(char **argv);
	} parts[] = { { "start", start_main },
		      { "list", list_main },
		      { "stop", stop_main } };
	struct err e;

	for (size_t i = 0; i < ARRAY_LEN(parts) && argv[0]; i++)
		if (!strcmp(parts[i].name, argv[0]))
			return parts[i].main(argv + 1);
	if (argv[0] && !strcmp(argv[0], "--help")) {
		(void)puts("hutch apptainer instance start|list|stop\n\n"
			   "More: man hutch-apptainer");
		return 0;
	}
	(void)err_set(&e, ERR_USAGE, "%s%.60s%s; there are start, list and stop",
		      argv[0] ? "'" : "the verb of instance is missing",
		      argv[0] ? argv[0] : "", argv[0] ? "' is no verb of instance" : "");
	return verbs_misused("instance", &e);
}
