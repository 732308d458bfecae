#include "executor/fileops/errand.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "executor/fileops/git.h"
#include "executor/files/files_parts.h"
#include "executor/files/walk.h"
#include "executor/session/shell_quote.h"

/* --- the hook ----------------------------------------------------------------------- */

#define SCRIPT_FOLDER ".openhands"
#define SCRIPT	      "pre-commit.sh"
#define HOOK	      "pre-commit"
#define KEPT	      "pre-commit.local"

/* The line that marks a hook that hutch has installed. */
#define MARK "# hutch: install_git_hooks"

static const char hook[] =
	"#!/bin/sh\n" MARK "\n"
	"# The repository's own check, and then the hook that was here before.\n"
	"if [ -x " SCRIPT_FOLDER "/" SCRIPT " ]; then\n"
	"\t./" SCRIPT_FOLDER "/" SCRIPT " \"$@\" || exit\n"
	"fi\n"
	"if [ -x \"${0%/*}/" KEPT "\" ]; then\n"
	"\texec \"${0%/*}/" KEPT "\" \"$@\"\n"
	"fi\n";

/* Makes the script executable for the users who may read it. The script must be a regular
 * file, reached through no link. 1: there is no script. */
static int make_executable(struct errand *x, int folder)
{
	struct stat st;
	AUTO_CLOSE int at =
		files_at(folder, SCRIPT_FOLDER, O_PATH | O_DIRECTORY | O_NOFOLLOW);
	AUTO_CLOSE int fd =
		at < 0 ? -1
		       : files_at(at, SCRIPT,
				  O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? 1 : errand_fail(x, NULL, errno);
	if (fstat(fd, &st) < 0)
		return errand_fail(x, NULL, errno);
	if (!S_ISREG(st.st_mode))
		return errand_refuse(x, SCRIPT_FOLDER "/" SCRIPT
				     " is not a regular file.");
	mode_t mode = st.st_mode | 0100 | (st.st_mode & 0444) >> 2;
	if (mode != st.st_mode && fchmod(fd, mode & 07777) < 0)
		return errand_fail(x, NULL, errno);
	return 0;
}

/* Returns whether hutch has installed the hook. A link, and a file that cannot be read,
 * count as hooks of the user's. */
static bool is_ours(int hooks)
{
	char text[256];
	AUTO_CLOSE int fd =
		openat(hooks, HOOK, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n < 0)
		return false;
	text[n] = '\0';
	return strstr(text, MARK "\n");
}

static int keep_other(struct errand *x, int hooks)
{
	struct stat st;

	if (is_ours(hooks) || fstatat(hooks, HOOK, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (sys_renameat2(hooks, HOOK, hooks, KEPT, KERNEL_RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EEXIST)
		return errand_fail(x, NULL, errno);
	return errand_refuse(x,
			     "there is a hook " HOOK ", and its folder already has "
			     KEPT ", the name to keep it under: nothing was changed.");
}

/* Replaces the hook with rename(2), so that git never sees half of it. */
static int put_hook(struct errand *x, int hooks)
{
	static const char name[] = HOOK ".hutch";
	AUTO_CLOSE int fd = openat(
		hooks, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0755);

	if (fd < 0 && errno == EEXIST &&
	    unlinkat(hooks, name, 0) == 0) /* left by a process that was killed */
		fd = openat(hooks, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	if (fd < 0)
		return errand_fail(x, NULL, errno);
	if (io_write_all(fd, hook, sizeof(hook) - 1) == 0 && fchmod(fd, 0755) == 0 &&
	    renameat(hooks, name, hooks, HOOK) == 0)
		return 0;
	int sys = errno;
	(void)unlinkat(hooks, name, 0); /* may fail: the failure to write the hook is
					 * reported anyway */
	return errand_fail(x, NULL, sys);
}

/* Opens the folder in which the repository has its hooks, and makes it if it is missing;
 * its path is put into x->other, for errors. */
static int open_hooks(struct errand *x, struct git *g)
{
	g->may_hook = true;
	AUTO_FREE char *path = git_text(g, GIT_WORDS("rev-parse", "--git-path", "hooks"));

	if (!path)
		return git_fail(x, g, "tell where hooks are");
	if (!files_make_absolute(x->other, x->path, path))
		return errand_fail(x, NULL, ENAMETOOLONG);
	if (mkdir(x->other, 0755) < 0 && errno != EEXIST)
		return errand_fail(x, x->other, errno);
	int hooks = files_at(AT_FDCWD, x->other, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return hooks < 0 ? errand_fail(x, x->other, errno) : hooks;
}

static void install(struct errand *x, struct git *g)
{
	AUTO_CLOSE int hooks = open_hooks(x, g);

	if (hooks < 0 || keep_other(x, hooks) < 0 || put_hook(x, hooks) < 0)
		return;
	AUTO_FREE char *path = text_format("%s/" HOOK, x->other);
	AUTO_FREE char *shown = shell_quote_shown(path);
	/* cannot fail: this is the only line of the text */
	(void)errand_line(x, shown, strlen(shown));
}

void errand_git_hooks(struct errand *x)
{
	AUTO_CLOSE int folder = errand_open_folder(x);
	struct git g = { 0 };

	if (folder < 0 || git_init(&g, x, x->path) < 0)
		return;
	int found = make_executable(x, folder);
	if (found == 0)
		install(x, &g);
	git_done(&g);
}

/* --- microagents -------------------------------------------------------------------- */

#define AGENTS_MAX 256
#define AGENT_MAX  (128u << 10)

struct agents {
	struct errand *x;
	int root;
	struct list paths; /* paths of files below the folder `root` */
	const char *folder;
};

/* Adds a line "LEN PATH" and the LEN bytes of the file; or a line "- PATH", if the file
 * is too large or could not be read. */
static void put_agent(struct agents *a, const char *path, const void *bytes, size_t len)
{
	struct errand *x = a->x;
	AUTO_FREE char *shown = shell_quote_shown(path);
	AUTO_FREE char *number = bytes ? text_format("%zu", len) : text_copy("-");
	AUTO_FREE char *head = text_format("%s %s\n", number, shown);
	size_t head_len = strlen(head);

	if (buffer_len(&x->text) + head_len + len > ERRAND_TEXT_MAX) {
		x->end.cut += head_len + len;
		return;
	}
	(void)buffer_append(&x->text, head, head_len); /* cannot fail: the size was
						        * checked above */
	(void)buffer_append(&x->text, bytes, len);
}

/* Adds the content of one file. A missing file, a link, or a file that is not regular is
 * left out. */
static void take_agent(struct agents *a, const char *path)
{
	AUTO_FREE char *bytes = mem_new(AGENT_MAX + 1);
	AUTO_CLOSE int fd =
		files_at(a->root, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	size_t len = 0;
	ssize_t n = 1;

	if (fd < 0 ? errno == ENOENT || errno == ELOOP
		   : fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	while (fd >= 0 && n > 0 && len <= AGENT_MAX) {
		n = read(fd, bytes + len, AGENT_MAX + 1 - len);
		len += n > 0 ? (size_t)n : 0;
	}
	bool is_whole = fd >= 0 && n == 0;
	put_agent(a, path, is_whole ? bytes : NULL, is_whole ? len : 0);
}

static bool is_agent(const struct walk_name *n)
{
	size_t len = strlen(n->name);

	return n->type == DT_REG && len > 3 && !strcmp(n->name + len - 3, ".md") &&
	       strcmp(n->name, "README.md") != 0;
}

static enum walk_step on_name(void *context, const struct walk_name *n)
{
	struct agents *a = context;

	if (!is_agent(n))
		return WALK_ON;
	if (a->paths.count == AGENTS_MAX)
		return WALK_END;
	list_addf(&a->paths, "%s/%s", a->folder, n->path);
	return WALK_ON;
}

static bool is_late(void *context)
{
	(void)context;
	return errand_is_late();
}

static int by_text(const void *one, const void *other)
{
	return strcmp(*(char *const *)one, *(char *const *)other);
}

/* Collects the paths of the microagents, which are files *.md with instructions for an
 * agent, in a folder. A missing folder has none. */
static void find_agents(struct agents *a)
{
	struct walk w = { .on_name = on_name, .is_late = is_late, .context = a };
	int folder = files_at(a->root, a->folder,
			      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (folder >= 0)
		(void)walk_run(&w, folder);
	if (a->paths.count > 0)
		qsort(a->paths.items, a->paths.count, sizeof(*a->paths.items), by_text);
}

/* Files at the top of a repository with instructions for an agent, as other tools have
 * them; they count as microagents too. */
static const char *const others[] = { ".openhands_instructions", ".cursorrules",
				      "AGENTS.md", "agents.md", "AGENT.md" };

void errand_microagents(struct errand *x)
{
	AUTO_CLOSE int root = errand_open_folder(x);
	struct agents a = { .x = x, .root = root, .folder = x->ask->other };

	if (root < 0)
		return;
	find_agents(&a);
	for (size_t i = 0; i < a.paths.count; i++)
		take_agent(&a, a.paths.items[i]);
	bool is_own = !strcmp(a.folder, SCRIPT_FOLDER "/microagents");
	for (size_t i = 0; is_own && i < ARRAY_LEN(others); i++)
		take_agent(&a, others[i]);
	list_done(&a.paths);
}
