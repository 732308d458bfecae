#include "executor/edit/lint.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/io.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/utf8.h"
#include "base/worker.h"
#include "executor/edit/edit.h"
#include "executor/terminal/text.h"

/* The most bytes of one finding's message. */
#define WORDS_MAX 300

#define HERE "/proc/self/fd/0"

/* A Python program that checks syntax. It prints where a syntax error ends, not where it
 * begins, since OpenHands' linter does that. */
static const char python_check[] =
	"import sys\n"
	"try:\n"
	"    compile(sys.stdin.buffer.read().decode(), 'stdin', 'exec')\n"
	"except SyntaxError as e:\n"
	"    line = getattr(e, 'end_lineno', e.lineno) or e.lineno or 1\n"
	"    column = getattr(e, 'end_offset', e.offset)\n"
	"    if column and column < 0: column = e.offset\n"
	"    print(f'stdin:{line}:{column or 1}: {e.msg}')\n";

static const char json_check[] =
	"import json, sys\n"
	"try:\n"
	"    json.loads(sys.stdin.buffer.read().decode())\n"
	"except json.JSONDecodeError as e:\n"
	"    print(f'stdin:{e.lineno}:{e.colno}: {e.msg}')\n";

/* The linters by the file's ending; the first that exists and works is used. Each
 * reads its stdin. Each finding is a line of its output: `prefix`, then LINE[:COLUMN]:
 * WORDS. */
static const struct linter {
	const char *endings[3];
	const char *argv[9];
	const char *prefix;
	bool is_stderr; /* the linter writes findings to stderr, not to stdout */
} linters[] = {
	{ .endings = { ".py", ".pyi" },
	  .argv = { "flake8", "--isolated", "--select=E112,E113,E902,E999,F821,F822,F831",
		    "-" },
	  .prefix = "stdin:" },
	{ .endings = { ".py", ".pyi" },
	  .argv = { "ruff", "check", "--isolated", "--no-cache", "--quiet",
		    "--output-format=concise", "--select=E9,F821,F822", "-" },
	  .prefix = "-:" },
	{ .endings = { ".py", ".pyi" },
	  .argv = { "python3", "-I", "-W", "ignore", "-c", python_check },
	  .prefix = "stdin:" },
	{ .endings = { ".sh", ".bash" },
	  .argv = { "shellcheck", "--norc", "--format=gcc", "--severity=error",
		    "--exclude=SC2148", "-" },
	  .prefix = "-:" },
	{ .endings = { ".sh", ".bash" },
	  .argv = { "bash", "-n", HERE },
	  .prefix = HERE ": line ",
	  .is_stderr = true },
	{ .endings = { ".json" },
	  .argv = { "python3", "-I", "-c", json_check },
	  .prefix = "stdin:" },
	{ .endings = { ".yaml", ".yml" },
	  .argv = { "yamllint", "-f", "parsable", "-d", "{rules: {}}", "-" },
	  .prefix = "stdin:" },
	{ .endings = { ".go" },
	  .argv = { "gofmt", "-e" },
	  .prefix = "<standard input>:",
	  .is_stderr = true },
};

static bool is_for(const struct linter *l, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && l->endings[i]; i++)
		if (!strcmp(dot, l->endings[i]))
			return true;
	return false;
}

bool lint_knows(const char *path)
{
	for (size_t i = 0; i < ARRAY_LEN(linters); i++)
		if (is_for(&linters[i], path))
			return true;
	return false;
}

/* --- the program ----------------------------------------------------------- */

static const char *value_of(char *const *env, const char *name)
{
	size_t len = strlen(name);

	for (; *env; env++)
		if (!strncmp(*env, name, len) && (*env)[len] == '=')
			return *env + len + 1;
	return NULL;
}

/* Finds a program in the PATH of `env`. Relative folders in PATH are left out: this
 * process' working directory is "/", not that of the session. */
static bool find_program(char *const *env, const char *name, char to[PATH_MAX])
{
	const char *path = value_of(env, "PATH");

	for (size_t len; path && *path; path += len + (path[len] == ':')) {
		len = strcspn(path, ":");
		int made = snprintf(to, PATH_MAX, "%.*s/%s", (int)len, path, name);
		if (*path == '/' && made < PATH_MAX && access(to, X_OK) == 0)
			return true;
	}
	return false;
}

/* Returns the session's environment, changed so that messages are in English. */
static char **own_environment(char *const *env)
{
	size_t count = 0, kept = 0;

	while (env[count])
		count++;
	char **own = mem_zeroed(count + 2, sizeof(*own));
	for (size_t i = 0; i < count; i++)
		if (strncmp(env[i], "LC_ALL=", 7) != 0)
			own[kept++] = env[i];
	own[kept] = text_copy("LC_ALL=C.UTF-8");
	return own;
}

static int text_file(struct bytes text)
{
	AUTO_CLOSE int fd = memfd_create("lint", MFD_CLOEXEC);

	if (fd < 0 || io_write_all(fd, text.data, text.len) < 0 ||
	    lseek(fd, 0, SEEK_SET) < 0)
		return -1;
	return fd_take(&fd);
}

/* Called in the child process: executes the linter. */
static _Noreturn void become(const struct linter *l, const char *program, int in, int out,
			     char **env)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int other = null < 0 ? out : null;

	(void)dup2(in, 0); /* dup2(2) does not fail for an open descriptor */
	(void)dup2(l->is_stderr ? other : out, 1);
	(void)dup2(l->is_stderr ? out : other, 2);
	(void)execve(program, (char *const *)(uintptr_t)l->argv, env);
	(void)syscall(SYS_exit_group, 127);
	__builtin_trap(); /* ends the process if a seccomp filter forbids even _exit(2);
			   * see spawn.c */
}

/* Reads the descriptor to its end, or until the buffer is full. */
static void read_output(int fd, struct buffer *to)
{
	uint8_t *at;
	ssize_t n;

	while ((at = buffer_reserve(to, 1)) &&
	       (n = read(fd, at, to->room - to->end)) != 0) {
		if (n > 0)
			buffer_added(to, (size_t)n);
		else if (errno != EINTR)
			return;
	}
}

/* Waits for the linter, and returns its exit code; -1: a signal ended it. */
static int wait_for(pid_t pid)
{
	const int status = worker_reap(pid);

	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int run(const struct linter *l, const char *program, struct bytes text,
	       const struct lint_order *o, struct buffer *out)
{
	AUTO_CLOSE int in = text_file(text);
	int ends[2];

	if (in < 0 || pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	char **env = own_environment(o->env);
	pid_t pid = fork();
	if (pid == 0)
		become(l, program, in, ends[1], env);
	free(env);
	own_close(&ends[1]);
	if (pid > 0)
		read_output(ends[0], out);
	own_close(&ends[0]); /* a linter that prints more than the buffer holds gets
			      * SIGPIPE */
	return pid > 0 ? wait_for(pid) : -1;
}

/* --- findings -------------------------------------------------------------- */

struct finding {
	size_t line, column; /* where the finding is, from 1 */
	size_t number;	     /* the finding's index in the linter's output */
	char words[3 * WORDS_MAX + 1];
};

struct findings {
	struct finding *all; /* owned */
	size_t count;
};

/* Reads a number, where 0 becomes 1, and returns the text behind it; NULL: there is no
 * number, or it has more than 9 digits. */
static const char *get_number(const char *at, size_t *ret)
{
	size_t digits = strspn(at, "0123456789");

	if (digits == 0 || digits > 9)
		return NULL;
	*ret = strtoul(at, NULL, 10);
	*ret = *ret ? *ret : 1;
	return at + digits;
}

/* Copies a finding's message. Invalid UTF-8 is replaced, and control characters become
 * blanks. */
static void set_words(struct finding *f, const char *words)
{
	size_t len = strnlen(words, WORDS_MAX), used;

	len = text_to_utf8((const uint8_t *)words, len, !words[len], (uint8_t *)f->words,
			   &used);
	for (size_t i = 0; i < len; i++)
		if ((uint8_t)f->words[i] < ' ')
			f->words[i] = ' ';
	f->words[utf8_trimmed((const uint8_t *)f->words, len)] = '\0';
}

static bool get_finding(const struct linter *l, const char *line, struct finding *ret)
{
	size_t len = strlen(l->prefix);
	const char *at =
		strncmp(line, l->prefix, len) ? NULL : get_number(line + len, &ret->line);

	ret->column = 1;
	if (!at || *at != ':')
		return false;
	const char *behind = get_number(at + 1, &ret->column);
	if (behind && *behind == ':')
		at = behind;
	else
		ret->column = 1;
	at++;
	set_words(ret, at + strspn(at, " \t"));
	return true;
}

static void get_findings(const struct linter *l, struct bytes said, struct findings *to)
{
	AUTO_FREE char *text = mem_zeroed(said.len + 1, 1);
	char *rest;

	*to = (struct findings){ mem_zeroed(LINT_FINDINGS, sizeof(*to->all)), 0 };
	if (said.len > 0)
		memcpy(text, said.data, said.len);
	for (char *line = strtok_r(text, "\n", &rest); line && to->count < LINT_FINDINGS;
	     line = strtok_r(NULL, "\n", &rest)) {
		struct finding *f = &to->all[to->count];
		f->number = to->count;
		to->count += get_finding(l, line, f);
	}
}

/* Runs the linter on one text.  True: the linter works, and its findings are
 * complete. */
static bool ask(const struct linter *l, const char *program, struct bytes text,
		const struct lint_order *o, struct findings *ret)
{
	struct buffer out;

	buffer_init(&out, LINT_OUTPUT_MAX);
	int code = run(l, program, text, o, &out);
	bool is_cut = buffer_len(&out) == LINT_OUTPUT_MAX;
	bool counts = code >= 0 || is_cut;
	get_findings(l,
		     (struct bytes){ buffer_data(&out), counts ? buffer_len(&out) : 0 },
		     ret);
	buffer_done(&out);
	return code == 0 || ret->count > 0;
}

/* --- new findings -------------------------------------------------------------- */

/* How many lines are the same at the beginning (head) and at the end (tail) of both
 * texts, and how many lines each text has. */
struct seam {
	size_t head, tail, old_count, new_count;
};

static bool begins_line(struct bytes text, size_t at)
{
	return at == 0 || text.data[at - 1] == '\n';
}

static struct seam seam_of(struct bytes old, struct bytes new)
{
	size_t least = old.len < new.len ? old.len : new.len, head = 0, tail = 0,
	       lines = 0;

	while (head < least && old.data[head] == new.data[head])
		lines += old.data[head++] == '\n';
	while (tail < least - head &&
	       old.data[old.len - 1 - tail] == new.data[new.len - 1 - tail])
		tail++;
	struct bytes end = { new.data + new.len - tail, tail };
	if (!begins_line(old, old.len - tail) || !begins_line(new, new.len - tail))
		end = edit_slice(end, 1, SIZE_MAX);
	return (struct seam){ lines, edit_count(end), edit_count(old), edit_count(new) };
}

/* Returns the number that a line of the new text has in the old text; 0: the line is
 * new. */
static size_t old_line(const struct seam *s, size_t line)
{
	if (line <= s->head)
		return line;
	return line + s->tail > s->new_count ? line - s->new_count + s->old_count : 0;
}

static bool was_there(const struct seam *s, const struct findings *old,
		      const struct finding *f)
{
	size_t line = old_line(s, f->line);

	for (size_t i = 0; line && i < old->count; i++)
		if (old->all[i].line == line && old->all[i].column == f->column &&
		    !strcmp(old->all[i].words, f->words))
			return true;
	return false;
}

static int compare(const void *one, const void *other)
{
	const struct finding *x = one, *y = other;

	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	if (x->column != y->column)
		return x->column < y->column ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

/* Writes the findings that the old text did not have, in the words of OpenHands'
 * editor. */
static void put_new(struct buffer *to, const struct lint_order *o,
		    const struct findings *old, struct findings *new)
{
	struct seam s = seam_of(o->old, o->new);
	size_t listed = 0;

	qsort(new->all, new->count, sizeof(*new->all), compare);
	for (size_t i = 0; i < new->count; i++) {
		const struct finding *f = &new->all[i];
		if (was_there(&s, old, f))
			continue;
		AUTO_FREE char *line = text_format(
			"%s- Line %zu, Column %zu: %s\n",
			listed++ ? "" : "Linting issues found in the changes:\n", f->line,
			f->column, f->words);
		/* the lines fit: there are few, and they are short */
		(void)buffer_append(to, line, strlen(line));
	}
	static const char none[] = "No linting issues found in the changes.";
	if (listed == 0)
		(void)buffer_append(to, none, strlen(none));
}

void lint_tell(const struct lint_order *o, struct bytes old_said, struct bytes new_said,
	       struct buffer *to)
{
	struct findings old, new;

	get_findings(&linters[0], old_said, &old);
	get_findings(&linters[0], new_said, &new);
	put_new(to, o, &old, &new);
	free(old.all);
	free(new.all);
}

/* --- the process ----------------------------------------------------------- */

/* Runs the linter on both texts, and writes the report. False: the linter does not
 * work. */
static bool lint(const struct linter *l, const char *program, const struct lint_order *o)
{
	struct findings old = { 0 }, new;
	struct buffer text;
	bool works = ask(l, program, o->new, o, &new);

	if (works && new.count > 0)
		/* if the linter fails on the old text, all findings count as new */
		(void)ask(l, program, o->old, o, &old);
	buffer_init(&text, LINT_TEXT_MAX);
	if (works)
		put_new(&text, o, &old, &new);
	/* a write fails only when the executor no longer reads */
	(void)io_write_all(1, buffer_data(&text), buffer_len(&text));
	buffer_done(&text);
	free(old.all);
	free(new.all);
	return works;
}

void lint_run(const void *order)
{
	const struct lint_order *o = order;
	char program[PATH_MAX];

	(void)prctl(PR_SET_NAME, "hutch-lint"); /* the name that ps(1) shows on the
						 * host */
	for (size_t i = 0; i < ARRAY_LEN(linters); i++)
		if (is_for(&linters[i], o->path) &&
		    find_program(o->env, linters[i].argv[0], program) &&
		    lint(&linters[i], program, o))
			break;
	(void)syscall(SYS_exit_group, 0);
	__builtin_trap(); /* ends the process if a seccomp filter forbids even _exit(2);
			   * see spawn.c */
}
