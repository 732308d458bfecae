#include "executor/edit/editor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "executor/edit/diff.h"
#include "executor/edit/editor_parts.h"
#include "executor/edit/lints.h"
#include "executor/files/files.h"
#include "executor/process/user.h"
#include "executor/wire/send_queue.h"
#include "protocol/action.h"
#include "protocol/message.h"

/* The most bytes of an answer's text, which may quote the whole text that was searched
 * for. */
#define SAY_MAX (10u << 20)

static bool unknown(struct job *j)
{
	return EDITOR_FAIL(j, "Unrecognized command %s. The allowed commands for "
			   "the oh_editor tool are: view, create, str_replace, "
			   "insert, undo_edit", j->r->command);
}

static const struct verb {
	const char *name;
	bool is_view, is_create;
	bool (*run)(struct job *j);
} verbs[] = {
	{ .name = "view", .is_view = true, .run = editor_view },
	{ .name = "create", .is_create = true, .run = editor_create },
	{ .name = "str_replace", .run = editor_str_replace },
	{ .name = "insert", .run = editor_insert },
	{ .name = "undo_edit", .run = editor_undo_edit },
	{ .name = NULL, .run = unknown },
};

static const struct verb *find_verb(const char *name)
{
	const struct verb *v = verbs;

	while (v->name && strcmp(v->name, name) != 0)
		v++;
	return v;
}

/* Refuses a relative path, with a hint if the path exists in the working directory. */
static bool fail_relative(struct job *j)
{
	char whole[2 * PATH_MAX];
	struct stat st;

	(void)editor_fail_path(j, "The path should be an absolute path, starting "
			       "with `/`.");
	(void)snprintf(whole, sizeof(whole), "%s/%s", j->r->place.cwd, j->path);
	edit_tidy_path(whole);
	if (files_stat(whole, &st) == 0)
		editor_say_format(j, " Maybe you meant %s?", whole);
	return false;
}

static bool is_absent(int sys)
{
	return sys == ENOENT || sys == ENOTDIR || sys == ELOOP;
}

/* Checks the path before the command's own checks, since OpenHands' editor reports
 * errors in that order. */
static bool check_path(struct job *j, const struct verb *v)
{
	struct stat st;
	bool is_there = files_stat(j->path, &st) == 0;
	int why = is_there ? 0 : errno;

	if (j->path[0] != '/')
		return fail_relative(j);
	if (!is_there && !is_absent(why))
		return editor_fail_sys(j, why, v->is_create ? "write to" : "read");
	if (v->is_create && is_there)
		return editor_fail_path(j, "File already exists at: @. Cannot "
					"overwrite files using command `create`.");
	if (!v->is_create && !is_there)
		return editor_fail_gone(j);
	if (!v->is_view && is_there && S_ISDIR(st.st_mode))
		return editor_fail_folder(j);
	return true;
}

static bool check_ending(struct job *j, const struct verb *v)
{
	const char *ending = v->is_view ? NULL : edit_document(j->path);

	if (!ending)
		return true;
	return EDITOR_FAIL(j, "Invalid `path` parameter: %s. The path %s points to "
			   "a binary file (%s) and only the `view` command can be "
			   "used on supported binary files.", j->path, j->path,
			   ending);
}

static void run(struct job *j)
{
	const struct verb *v = find_verb(j->r->command);
	int64_t line;

	if (j->r->flags & EDIT_LINE && !edit_number(j->r->line, &line))
		(void)EDITOR_FAIL(j, "Invalid insert_line value: '%s'. Expected an "
				  "integer.", j->r->line);
	else if (check_path(j, v) && check_ending(j, v))
		(void)v->run(j); /* the return value is not needed: after a failure the
				  * answer has the error's text */
}

void editor_answer(const struct editor_answer *from, struct send_queue *to)
{
	struct reply a = { .id = from->id, .type = MSG_CONTENT };
	const struct edited x = {
		.outcome = from->is_binary ? OUTCOME_BINARY : OUTCOME_DONE,
		.text_len = from->is_binary ? 0 : buffer_len(&from->say),
		.cut = from->cut,
	};

	buffer_init(&a.end, SEND_QUEUE_END_MAX);
	/* cannot fail: the buffer has room for any frame of this type */
	(void)action_put_edited(&a.end, from->id, &x, NULL);
	if (!from->is_binary) {
		a.len = buffer_len(&from->say) + buffer_len(&from->diff);
		a.bytes = mem_new(a.len);
		memcpy(a.bytes, buffer_data(&from->say), buffer_len(&from->say));
		if (buffer_len(&from->diff) > 0)
			memcpy(a.bytes + x.text_len, buffer_data(&from->diff),
			       buffer_len(&from->diff));
	}
	send_queue_add(to, &a);
}

void editor_answer_done(struct editor_answer *a)
{
	buffer_done(&a->say);
	buffer_done(&a->diff);
}

/* Sends the answer at once, or starts a worker process with a linter; then the answer is
 * sent when the worker ends. */
static void reply(const struct files *f, struct job *j, const struct editor *to)
{
	struct editor_answer a = { .id = f->id, .say = j->say, .diff = j->diff,
				   .cut = j->cut, .lint_at = j->change.at,
				   .is_binary = j->is_binary };
	const struct lint_edit edit = { j->path, { j->change.old, j->change.old_len },
					{ j->change.new, j->change.new_len }, to->exec };

	if (!j->change.new || !lints_start(to->workers, &edit, &a, to->now))
		editor_answer(&a, f->replies);
	editor_answer_done(&a);
	free(j->change.old);
	free(j->change.new);
}

/* Initialises the job for one edit. A relative path whose absolute form would be too
 * long stays relative, and is refused as a relative path later. */
static void job_init(struct job *j, const struct files *f, const struct edit_request *r,
		     struct undo *h)
{
	*j = (struct job){ .r = r, .undo = h };
	if (!(r->flags & EDIT_RELATIVE) ||
	    !files_make_absolute(j->path, f->place->cwd, r->path))
		/* is not cut: a request's path is shorter than PATH_MAX */
		(void)snprintf(j->path, sizeof(j->path), "%s", r->path);
	edit_tidy_path(j->path);
	buffer_init(&j->say, SAY_MAX);
	buffer_init(&j->diff, DIFF_MAX);
}

int editor_edit(const struct files *f, const struct edit_request *r,
		const struct editor *to, struct err *e)
{
	struct user_role role;
	struct job j;

	job_init(&j, f, r, to->undo);
	if (user_enter(f->user, f->place->uid, f->place->gid, &role) < 0) {
		(void)editor_fail_sys(&j, errno, "read");
	} else {
		run(&j);
		if (user_leave(f->user, &role) < 0)
			return err_sys(e, "become the executor again");
	}
	reply(f, &j, to);
	return 0;
}
