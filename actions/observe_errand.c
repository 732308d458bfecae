#include "actions/observe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "actions/action.h"
#include "actions/observe_git.h"
#include "actions/observe_parts.h"
#include "base/buffer.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/own.h"
#include "protocol/action.h"

/* --- the metadata of a path ------------------------------------------------------------
 */

/* Writes the permissions as ls(1) does, "rwxr-xr-x", without the file's type. */
static void put_mode(char to[10], uint32_t mode)
{
	static const char letters[] = "rwxrwxrwx";

	for (int i = 0; i < 9; i++)
		to[i] = mode & (0400u >> i) ? letters[i] : '-';
	if (mode & S_ISUID)
		to[2] = mode & S_IXUSR ? 's' : 'S';
	if (mode & S_ISGID)
		to[5] = mode & S_IXGRP ? 's' : 'S';
	if (mode & S_ISVTX)
		to[8] = mode & S_IXOTH ? 't' : 'T';
	to[9] = '\0';
}

static char *time_text(int64_t seconds)
{
	time_t at = (time_t)seconds;
	struct tm tm;
	char text[64];

	if (!gmtime_r(&at, &tm) ||
	    !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm))
		return text_format("%lld s after 1970", (long long)seconds);
	return text_copy(text);
}

static char *stat_text(const struct returned *x)
{
	const struct stat_result *st = &x->stat;
	AUTO_FREE char *when = time_text(st->seconds);
	bool is_link = S_ISLNK(st->mode);
	char mode[10];

	put_mode(mode, st->mode);
	return text_format(
		"%s: %s%s%s, %llu bytes, mode %04o (%s), owner %u:%u, changed %s",
		x->path, observe_type(st->mode), is_link ? " to " : "", st->target,
		(unsigned long long)st->size, st->mode & 07777, mode, st->uid, st->gid,
		when);
}

/* --- errors ----------------------------------------------------------------------------
 */

/* Returns a text for this errno that helps more, for this kind of action, than that of
 * strerror(3); NULL: there is none. */
static const char *kind_words(const struct action *a, uint32_t sys)
{
	switch (sys) {
	case EEXIST:
		return a->kind == ACT_MOVE
			       ? "it is there already; with \"overwrite\": true it "
				 "is replaced, but a folder only by one and if "
				 "it is empty"
			       : "it is there, and is no folder";
	case EISDIR:
		return a->kind == ACT_MOVE
			       ? "it is a folder, which no file replaces; \"to\" is "
				 "the new path itself, not where to put it"
			       : NULL;
	case ENOTEMPTY:
		return a->kind != ACT_REMOVE ? NULL
		       : a->errand_flags     ? "something was put into it meanwhile"
					 : "the folder is not empty; with \"recursive\": "
					   "true all that is in it is removed, too";
	case EXDEV:
		return "that is on another mount; `mv` in a run copies it there";
	case EBUSY:
		return a->kind == ACT_REMOVE || a->kind == ACT_MOVE
			       ? "it is a mount, or no name"
			       : NULL;
	case EINVAL:
		return a->kind == ACT_MOVE ? "a folder cannot be moved into itself"
					   : NULL;
	case EINTR:
		return "it was ended by a signal before it was done";
	case EAGAIN:
		return "too much is under way";
	default:
		return NULL;
	}
}

static char *error_text(const struct observed *o, const struct returned *x)
{
	const char *words = kind_words(o->action, x->sys);

	switch (x->outcome) {
	case OUTCOME_NOT_FOUND:
		return text_format(
			"File not found: %s. Your current working directory is %s.",
			x->path, x->cwd);
	case OUTCOME_TIMED_OUT:
		return text_format("ERROR: %s: it was not done within %.12g seconds.",
				   x->path, o->action->timeout_s);
	case OUTCOME_CANCELLED:
		return text_copy("ERROR: The action was cancelled.");
	case OUTCOME_IS_FOLDER:
		return text_format("Path is a directory: %s. Only files are compared.",
				   x->path);
	case OUTCOME_BINARY:
		return text_copy("ERROR_BINARY_FILE");
	case OUTCOME_NOT_REGULAR:
		return text_format("Not a regular file: %s.", x->path);
	case OUTCOME_REFUSED:
		return text_format("ERROR: %.*s", (int)o->len, (const char *)o->content);
	default:
		return text_format("%s: %s.", x->path,
				   words ? words : err_words((int)x->sys));
	}
}

static void say_error(struct buffer *out, const struct observed *o,
		      const struct returned *x)
{
	AUTO_FREE char *text = error_text(o, x);

	observe_error(out, o, x->outcome == OUTCOME_CANCELLED ? "HUTCH$CANCELLED" : "",
		      text);
}

/* --- results ---------------------------------------------------------------------------
 */

/* For each kind of errand, the name of its observation, and the message in it. */
static const struct shape {
	const char *name, *message; /* %s in `message` stands for the path */
} shapes[ACT_KIND_COUNT] = {
	[ACT_LIST] = { "list", "I listed the folder %s." },
	[ACT_GLOB] = { "glob", "I looked for files in %s." },
	[ACT_GREP] = { "grep", "I searched %s." },
	[ACT_STAT] = { "stat", "I looked at %s." },
	[ACT_MOVE] = { "move", "I moved %s." },
	[ACT_REMOVE] = { "remove", "I removed %s." },
	[ACT_MKDIR] = { "mkdir", "I made the folder %s." },
	[ACT_GIT_CLONE] = { "git_clone", "I cloned into %s." },
	[ACT_GIT_BRANCH] = { "git_branch", "I went to the branch in %s." },
	[ACT_GIT_CHANGES] = { "git_changes", "I looked for changes in %s." },
	[ACT_GIT_DIFF] = { "git_diff", "I compared %s." },
	[ACT_GIT_SETUP] = { "git_setup", "I set up git for %s." },
	[ACT_GIT_HOOKS] = { "install_git_hooks", "I installed git's hooks in %s." },
	[ACT_MICROAGENTS] = { "microagents", "I read the microagents of %s." },
};

/* Returns the message, with the path in place of %s. */
static char *message_of(const struct shape *s, const char *path)
{
	const char *at = strchr(s->message, '%');

	return text_format("%.*s%s%s", (int)(at - s->message), s->message, path, at + 2);
}

static const char *or_null(const char *text)
{
	return *text ? text : NULL;
}

static void put_extras(struct buffer *out, const struct action *a)
{
	const char *other = action_other_key(a);

	json_write_open(out, "extras", "{");
	observe_member(out, "path", a->path);
	if (other)
		observe_member(out, other, or_null(a->other));
	if (a->kind == ACT_GREP)
		observe_member(out, "include", or_null(a->include));
	if (a->kind == ACT_GIT_CLONE)
		observe_member(out, "branch", or_null(a->include));
	if (a->kind == ACT_GIT_SETUP)
		observe_member(out, "email", or_null(a->include));
	json_write_close(out, "}");
}

static void put_done(struct buffer *out, const struct observed *o,
		     const struct returned *x, const char *text)
{
	const struct action *a = o->action;
	AUTO_FREE char *message = message_of(&shapes[a->kind], x->path);

	observe_kind(out, shapes[a->kind].name);
	observe_member(out, "message", message);
	if (text)
		observe_member(out, "content", text);
	else
		json_write_bytes(out, "content", o->content, o->len);
	put_extras(out, a);
	observe_end(out, o, x->cut, false);
}

static void observe_found(struct buffer *out, const struct observed *o,
			  const struct returned *x)
{
	AUTO_FREE char *stat = x->stat.mode ? stat_text(x) : NULL;
	struct observed mine = *o;

	mine.stat = x->stat.mode ? &x->stat : NULL;
	put_done(out, &mine, x, stat);
}

static void observe_repository(struct buffer *out, const struct observed *o,
			       const struct returned *x)
{
	struct observed mine = *o;
	struct buffer members;
	AUTO_FREE char *text = NULL;

	buffer_init(&members, out->max);
	bool is_good = observe_git(o, &members, &text) && !members.is_cut;
	AUTO_FREE char *written = json_write_end(&members);
	mine.members = or_null(written);
	if (is_good)
		put_done(out, &mine, x, text);
	else
		observe_error(out, o, "", "ERROR: The output of git could not be read.");
}

void observe_errand(struct buffer *out, const struct observed *o,
		    const struct returned *x)
{
	if (x->outcome != OUTCOME_DONE)
		say_error(out, o, x);
	else if (o->action->kind >= ACT_GIT_CLONE)
		observe_repository(out, o, x);
	else
		observe_found(out, o, x);
}
