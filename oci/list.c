#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/own.h"
#include "base/term_escape.h"
#include "oci/args.h"
#include "oci/verbs.h"
#include "sandbox/kernel/host_user.h"

enum format { FORMAT_TABLE, FORMAT_JSON, FORMAT_IDS };

static char *owner_of(const struct state *s)
{
	struct stat st;

	return fstat(s->folder, &st) ? NULL : host_user_name(st.st_uid);
}

static void write_row(struct buffer *b, const struct state *s, enum state_status status)
{
	AUTO_FREE char *owner = owner_of(s);

	json_write_open(b, NULL, "{");
	json_write_text(b, "ociVersion", s->version);
	json_write_text(b, "id", s->id);
	json_write_number(b, "pid", status == STATE_STOPPED ? 0 : s->pid);
	json_write_text(b, "status", state_word(status));
	json_write_text(b, "bundle", s->bundle);
	json_write_text(b, "rootfs", s->root);
	json_write_text(b, "created", s->created);
	if (s->annotations)
		json_write_raw(b, "annotations", s->annotations);
	json_write_text(b, "owner", owner ? owner : "");
	json_write_close(b, "}");
}

static void print_row(const struct state *s, enum state_status status)
{
	AUTO_FREE char *owner = owner_of(s);
	AUTO_FREE char *bundle = term_escape_line(s->bundle ? s->bundle : "");

	(void)printf("%-24s %-8d %-9s %-40s %-31s %s\n", s->id,
		     status == STATE_STOPPED ? 0 : (int)s->pid, state_word(status),
		     bundle, s->created ? s->created : "",
		     owner ? owner : ""); /* fflush() tells */
}

static void add_one(const char *root, const char *id, enum format format,
		    struct buffer *b)
{
	AUTO_STATE struct state s = { .folder = -1 };
	struct err ignored;

	/* A container that is being removed has no state any more. */
	if (state_open(root, id, &s, &ignored))
		return;
	if (format == FORMAT_JSON)
		write_row(b, &s, state_status(&s));
	else if (format == FORMAT_TABLE)
		print_row(&s, state_status(&s));
	else
		(void)printf("%s\n", s.id); /* fflush() tells */
}

int list_verb(const struct globals *g, char **argv, struct err *e)
{
	const char *word = "table";
	bool is_quiet = false;
	const struct args_flag flags[] = {
		{ "format", 'f', ARGS_TEXT, &word, "table|json", "how to print them" },
		{ "quiet", 'q', ARGS_SWITCH, &is_quiet, NULL, "print the ids alone" },
	};
	const struct args a = { "list [OPTIONS]", flags, ARRAY_LEN(flags), false };
	struct list ids = { 0 };
	struct buffer b;

	if (args_read(&a, argv, e) || args_count(&a, argv, 0, 0, e))
		return -1;
	const bool is_json = !strcmp(word, "json");
	if (!is_json && strcmp(word, "table") != 0)
		return err_set(e, ERR_USAGE, "--format: table or json was expected");
	const enum format format = is_quiet  ? FORMAT_IDS
				   : is_json ? FORMAT_JSON
					     : FORMAT_TABLE;
	if (state_ids(g->root, &ids, e))
		return -1;
	json_write_begin(&b);
	json_write_open(&b, NULL, "[");
	if (format == FORMAT_TABLE)
		(void)printf("%-24s %-8s %-9s %-40s %-31s %s\n", "NAME", "PID", "STATUS",
			     "BUNDLE PATH", "CREATED", "OWNER"); /* fflush() tells */
	for (size_t i = 0; i < ids.count; i++)
		add_one(g->root, ids.items[i], format, &b);
	list_done(&ids);
	json_write_close(&b, "]\n");
	AUTO_FREE char *text = json_write_end(&b);
	if (format == FORMAT_JSON)
		(void)fputs(text, stdout); /* fflush() tells */
	return fflush(stdout) || ferror(stdout) ? err_sys(e, "write to stdout") : 0;
}
