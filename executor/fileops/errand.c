#include "executor/fileops/errand.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/frame.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/own.h"
#include "executor/files/files_parts.h"
#include "executor/wire/send_queue.h"

/* This many bytes at the end of the answer's text are kept free for notes to the
 * reader. */
#define NOTES_MAX 4096

static void (*const kinds[])(struct errand *x) = {
	[ERRAND_NONE] = NULL,
	[ERRAND_LIST] = errand_list,
	[ERRAND_GLOB] = errand_glob,
	[ERRAND_STAT] = errand_stat,
	[ERRAND_MOVE] = errand_move,
	[ERRAND_REMOVE] = errand_remove,
	[ERRAND_MKDIR] = errand_mkdir,
	[ERRAND_GREP] = errand_grep,
	[ERRAND_GIT_CLONE] = errand_git_clone,
	[ERRAND_GIT_BRANCH] = errand_git_branch,
	[ERRAND_GIT_CHANGES] = errand_git_changes,
	[ERRAND_GIT_DIFF] = errand_git_diff,
	[ERRAND_GIT_SETUP] = errand_git_setup,
	[ERRAND_GIT_HOOKS] = errand_git_hooks,
	[ERRAND_MICROAGENTS] = errand_microagents,
	[ERRAND_ACCOUNT] = errand_account,
};
_Static_assert(ARRAY_LEN(kinds) == ERRAND_KIND_COUNT, "a kind of errand has no row");

/* --- results ------------------------------------------------------------------ */

int errand_fail(struct errand *x, const char *path, int sys)
{
	bool is_absent = sys == ENOENT || sys == ENOTDIR;

	x->end.outcome = is_absent ? OUTCOME_NOT_FOUND : OUTCOME_ERROR;
	x->end.sys = (uint32_t)sys;
	x->end.path = path;
	return -1;
}

int errand_refuse(struct errand *x, const char *why)
{
	buffer_consume(&x->text, SIZE_MAX);
	/* cannot fail: the buffer is empty, and the reason is one sentence */
	(void)buffer_append(&x->text, why, strlen(why));
	x->end.outcome = OUTCOME_REFUSED;
	return -1;
}

static bool put_line(struct errand *x, const char *line, size_t len, size_t most)
{
	size_t slash = buffer_len(&x->text) > 0 ? 1 : 0;

	if (buffer_len(&x->text) + slash + len > most)
		return false;
	return buffer_append(&x->text, "\n", slash) && buffer_append(&x->text, line, len);
}

bool errand_line(struct errand *x, const char *line, size_t len)
{
	if (x->end.cut == 0 && put_line(x, line, len, ERRAND_TEXT_MAX - NOTES_MAX))
		return true;
	x->end.cut += len + 1;
	return false;
}

void errand_note(struct errand *x, const char *fmt, ...)
{
	char line[512];
	va_list args;

	va_start(args, fmt);
	int len = vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	(void)put_line(x, line,
		       (size_t)len < sizeof(line) ? (size_t)len : sizeof(line) - 1,
		       ERRAND_TEXT_MAX); /* it fits */
}

/* --- its time ------------------------------------------------------------------ */

static sigset_t only_sigalrm(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGALRM); /* the arguments are valid, so this cannot fail */
	return set;
}

/* Returns whether the errand was asked to end, by SIGALRM. The signal is blocked, so it
 * stays pending, which sigpending(2) shows. */
bool errand_is_late(void)
{
	sigset_t set;

	return sigpending(&set) == 0 && sigismember(&set, SIGALRM) == 1;
}

/* --- paths --------------------------------------------------------------------- */

/* Makes the prefix for the names in an answer, so that a name can be used as a
 * path in a further request: "" if the request's path is ".", "src/" if it is "src". */
static void make_shown(char to[PATH_MAX], const char *path)
{
	size_t len = strlen(path);

	while (len > 0 && path[len - 1] == '/')
		len--;
	bool is_here = len == 1 && path[0] == '.';
	(void)snprintf(to, PATH_MAX, "%.*s%s", is_here ? 0 : (int)len, path,
		       is_here ? "" : "/");
}

int errand_open_folder(struct errand *x)
{
	struct stat st;
	AUTO_CLOSE int at = open(x->path, O_PATH | O_CLOEXEC);

	if (at < 0 || fstat(at, &st) < 0)
		return errand_fail(x, NULL, errno);
	if (files_is_of_process(at))
		return errand_fail(x, NULL, EACCES);
	if (!S_ISDIR(st.st_mode)) {
		(void)errand_fail(x, NULL, ENOTDIR);
		x->end.outcome = OUTCOME_ERROR; /* it is there */
		return -1;
	}
	int fd = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? errand_fail(x, NULL, errno) : fd;
}

/* --- the process --------------------------------------------------------------- */

/* Leaves out a "." at the end of a path, and returns the path. */
static const char *tidy(char *path)
{
	size_t len = strlen(path);

	if (len > 2 && !strcmp(path + len - 2, "/."))
		path[len - 2] = '\0';
	return path;
}

static void tell(struct errand *x, uint32_t id)
{
	struct buffer frame;

	if (!x->end.path)
		x->end.path = tidy(x->path);
	if (!x->end.stat.target)
		x->end.stat.target = "";
	x->end.cwd = x->ask->place.cwd;
	if (x->end.cut > ACTION_CUT_MAX)
		x->end.cut = ACTION_CUT_MAX;
	buffer_init(&frame, SEND_QUEUE_END_MAX);
	/* cannot fail: the frame has at most three paths, for which the buffer has
	 * room */
	(void)action_put_returned(&frame, id, &x->end, NULL);
	if (io_write_all(1, buffer_data(&frame), buffer_len(&frame)) == 0)
		(void)io_write_all(1, buffer_data(&x->text), buffer_len(&x->text));
}

static bool is_move(const struct errand_request *r)
{
	return r->kind == ERRAND_MOVE;
}

static void do_it(struct errand *x)
{
	const struct errand_request *r = x->ask;

	if (!files_make_absolute(x->path, r->place.cwd, r->path) ||
	    (is_move(r) && !files_make_absolute(x->other, r->place.cwd, r->other))) {
		(void)errand_fail(x, r->path, ENAMETOOLONG);
		return;
	}
	if (r->kind >= ERRAND_GIT_CLONE) /* a git errand reports its path as git does:
					  * without "/." at its end */
		(void)tidy(x->path);
	make_shown(x->shown, r->path);
	kinds[r->kind](x);
}

void errand_run(const void *order)
{
	const struct errand_order *o = order;
	const sigset_t late = only_sigalrm();
	struct errand *x = mem_zeroed(1, sizeof(*x));

	(void)prctl(PR_SET_NAME, "hutch-errand"); /* the name that ps(1) shows on the
						   * host */
	/* the arguments are valid, so this cannot fail */
	(void)sigprocmask(SIG_BLOCK, &late, NULL);
	x->ask = o->request;
	x->as = o->as;
	buffer_init(&x->text, action_errand_max(o->request->kind));
	do_it(x);
	tell(x, o->id);
	(void)syscall(SYS_exit_group, 0);
	__builtin_trap(); /* ends the process if a seccomp filter forbids even _exit(2);
			   * see spawn.c */
}
