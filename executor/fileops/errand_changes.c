#include "executor/fileops/errand.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/utf8.h"
#include "executor/fileops/git.h"
#include "executor/files/files_parts.h"
#include "executor/files/walk.h"
#include "executor/session/shell_quote.h"

/* The limit in bytes of a list of names that git prints; a longer list is an error. */
#define NAMES_MAX (8u << 20)

/* --- the base to compare with
 * -------------------------------------------------------- */

static char *commit_of(struct git *g, const char *name)
{
	AUTO_FREE char *commit = text_format("%s^{commit}", name);

	return git_text(g, GIT_WORDS("rev-parse", "--verify", "--quiet",
				     "--end-of-options", commit));
}

/* Returns the last common commit of HEAD and the default branch of the clone's origin
 * (git-merge-base(1)); if there is none, that branch's last commit. NULL: there is no
 * such branch. */
static char *fork_point(struct git *g)
{
	char *base =
		git_text(g, GIT_WORDS("merge-base", "HEAD", "refs/remotes/origin/HEAD"));

	return base ? base : commit_of(g, "refs/remotes/origin/HEAD");
}

/* Returns the default base of a comparison, the first of these that exists: this branch
 * as it was last fetched from origin, the fork point, HEAD, and the empty tree.
 * OpenHands has the same order, but asks over the network. NULL: git failed. */
static char *base_of(struct git *g)
{
	AUTO_FREE char *branch =
		git_text(g, GIT_WORDS("symbolic-ref", "--quiet", "--short", "HEAD"));
	AUTO_FREE char *there =
		text_format("refs/remotes/origin/%s", branch ? branch : "");
	char *base = branch ? commit_of(g, there) : NULL;

	base = base ? base : fork_point(g);
	base = base ? base : commit_of(g, "HEAD");
	return base ? base
		    : git_text(g, GIT_WORDS("hash-object", "-t", "tree", "/dev/null"));
}

/* Returns the request's base, or else the default base. NULL: there is none, and the
 * error is reported. */
static char *find_base(struct errand *x, struct git *g)
{
	char *base = *x->ask->other ? commit_of(g, x->ask->other) : base_of(g);

	if (base || g->is_late) {
		if (!base)
			(void)git_fail(x, g, "find what to compare with");
		return base;
	}
	AUTO_FREE char *why = text_format("there is no commit %s here.",
					  *x->ask->other ? x->ask->other : "HEAD");
	(void)errand_refuse(x, why);
	return NULL;
}

static bool is_repository(struct git *g)
{
	return git_run(g, GIT_WORDS("rev-parse", "--is-inside-work-tree")) == 0 &&
	       buffer_len(&g->out) >= 4 && !memcmp(buffer_data(&g->out), "true", 4);
}

/* --- changes ------------------------------------------------------------------------ */

/* A changed path with its status. */
struct change {
	char status;
	char *path; /* owned */
};

struct changes {
	struct errand *x;
	struct git git;
	struct list below;  /* folders in the request's folder that are repositories of
			     * their own; their files are no files of the outer
			     * repository */
	struct change *all; /* owned */
	size_t count, room;
};

static bool is_below(const struct changes *c, const char *path)
{
	for (size_t i = 0; i < c->below.count; i++) {
		size_t len = strlen(c->below.items[i]);
		if (!strncmp(path, c->below.items[i], len) &&
		    (path[len] == '/' || !path[len]))
			return true;
	}
	return false;
}

static void add(struct changes *c, char status, const char *before, const char *path)
{
	if (!*before && is_below(c, path))
		return;
	if (c->count == c->room) {
		c->room = c->room ? 2 * c->room : 256;
		c->all = mem_resize(c->all, c->room, sizeof(*c->all));
	}
	c->all[c->count++] = (struct change){ status, text_format("%s%s", before, path) };
}

/* Returns the next record of git's output, each of which ends with a byte 0; NULL: there
 * is no further complete record. */
static const char *next(const char **at, const char *end)
{
	const char *from = *at,
		   *zero = from < end ? memchr(from, 0, (size_t)(end - from)) : NULL;

	*at = zero ? zero + 1 : end;
	return zero ? from : NULL;
}

/* Translates git's status letter; '\0': unknown. A file whose type has changed counts as
 * modified. */
static char status_of(const char *word)
{
	return *word == 'T' ? 'M' : *word && strchr("MADU", *word) ? *word : '\0';
}

static void take_tracked(struct changes *c, const char *before)
{
	const char *at = (const char *)buffer_data(&c->git.out);
	const char *end = at + buffer_len(&c->git.out), *word, *path;

	while ((word = next(&at, end)) && (path = next(&at, end))) {
		char status = status_of(word);
		if (status && *path)
			add(c, status, before, path);
	}
}

/* Takes the paths that git printed. A path with a slash at its end is a repository in
 * this repository, and is left out. */
static void take_paths(struct changes *c, char status, const char *before)
{
	const char *at = (const char *)buffer_data(&c->git.out);
	const char *end = at + buffer_len(&c->git.out), *path;

	while ((path = next(&at, end)))
		if (*path && path[strlen(path) - 1] != '/')
			add(c, status, before, path);
}

/* Runs git, whose output is records that end with a byte 0. -1: git failed, and the
 * error is reported. */
static int ask_names(struct changes *c, const char *what, const char *const *words)
{
	c->git.most = NAMES_MAX;
	int code = git_run(&c->git, words);
	c->git.most = 64u << 10;
	return code == 0 ? 0 : git_fail(c->x, &c->git, what);
}

/* Collects the changes of the repository in which git runs; `before` is put in front of
 * the paths. */
static int collect(struct changes *c, const char *before)
{
	AUTO_FREE char *base = find_base(c->x, &c->git);

	if (!base || ask_names(c, "tell the changes",
			       GIT_WORDS("diff", "--name-status", "-z", "--no-renames",
					 "--ignore-submodules=dirty", "--relative", base,
					 "--")) < 0)
		return -1;
	take_tracked(c, before);
	if (ask_names(c, "tell the new files",
		      GIT_WORDS("ls-files", "-z", "--others", "--exclude-standard")) < 0)
		return -1;
	take_paths(c, 'A', before);
	/* Unmerged files need a query of their own: the comparison with a commit reports
	 * them as modified. */
	if (ask_names(c, "tell what is unmerged",
		      GIT_WORDS("diff", "--name-only", "--diff-filter=U", "-z",
				"--relative", "--")) < 0)
		return -1;
	take_paths(c, 'U', before);
	return 0;
}

/* Collects the subfolders that have an entry ".git", but does not look deeper. */
static enum walk_step on_name(void *context, const struct walk_name *n)
{
	struct changes *c = context;

	if (n->depth == 1 && !strcmp(n->name, ".git") &&
	    c->below.count < ERRAND_LIMIT_MAX)
		list_addf(&c->below, "%.*s", (int)(n->name - 1 - n->path), n->path);
	return n->depth == 0 && strcmp(n->name, ".git") != 0 ? WALK_ON : WALK_PAST;
}

static bool is_late(void *context)
{
	(void)context;
	return errand_is_late();
}

static int collect_below(struct changes *c)
{
	for (size_t i = 0; i < c->below.count; i++) {
		AUTO_FREE char *folder =
			text_format("%s/%s", c->x->path, c->below.items[i]);
		AUTO_FREE char *before = text_format("%s/", c->below.items[i]);
		c->git.folder = folder;
		int result = is_repository(&c->git) ? collect(c, before) : 0;
		c->git.folder = c->x->path;
		if (result < 0)
			return -1;
	}
	return 0;
}

static int collect_all(struct changes *c)
{
	bool is_one = is_repository(&c->git);

	if (!is_one && (c->below.count == 0 || c->git.is_late))
		return git_fail(c->x, &c->git, "tell the changes");
	if (is_one && collect(c, "") < 0)
		return -1;
	return collect_below(c);
}

/* Compares two changes: by path, and of equal paths the unmerged one comes first, which
 * is the only one that is reported. */
static int compare(const void *one, const void *other)
{
	const struct change *a = one, *b = other;
	int order = strcmp(a->path, b->path);

	return order ? order : (b->status == 'U') - (a->status == 'U');
}

static void tell_changes(struct changes *c)
{
	size_t listed = 0, left = 0;

	if (c->count > 0)
		qsort(c->all, c->count, sizeof(*c->all), compare);
	for (size_t i = 0; i < c->count; i++) {
		if (i > 0 && !strcmp(c->all[i].path, c->all[i - 1].path))
			continue;
		AUTO_FREE char *shown = shell_quote_shown(c->all[i].path);
		AUTO_FREE char *line = text_format("%c %s", c->all[i].status, shown);
		bool is_listed = listed < c->x->ask->limit &&
				 errand_line(c->x, line, strlen(line));
		listed += is_listed;
		left += !is_listed;
		c->x->end.cut += is_listed ? 0 : strlen(line) + 1;
	}
	if (left > 0)
		errand_note(c->x, "[%zu more %s not shown.]", left,
			    left == 1 ? "is" : "are");
}

static void changes_done(struct changes *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->all[i].path);
	free(c->all);
	list_done(&c->below);
	git_done(&c->git);
}

void errand_git_changes(struct errand *x)
{
	struct changes c = { .x = x };
	struct walk w = { .on_name = on_name, .is_late = is_late, .context = &c };
	int folder = errand_open_folder(x);

	if (folder < 0)
		return;
	(void)walk_run(&w, folder);
	if (git_init(&c.git, x, x->path) == 0) {
		c.git.only_looks = true;
		if (collect_all(&c) == 0)
			tell_changes(&c);
	}
	changes_done(&c);
}

/* --- diff --------------------------------------------------------------------------- */

/* A file's content on one side of a diff; bytes NULL: the file does not exist on this
 * side. */
struct side {
	uint8_t *bytes; /* owned */
	size_t len;
};

static int too_large(struct errand *x)
{
	AUTO_FREE char *why =
		text_format("%s is larger than %u MiB, too large to be compared "
			    "(file_to_large).",
			    x->path, ERRAND_SIDE_MAX >> 20);
	return errand_refuse(x, why);
}

/* Cuts the path to its longest beginning that is an existing folder; returns the rest, a
 * path relative to that folder. */
static char *split(char folder[PATH_MAX])
{
	struct stat st;
	char *slash = NULL, *rest = text_copy("");

	while ((slash = strrchr(folder, '/'))) {
		AUTO_FREE char *before = rest;
		rest = text_format("%s%s%s", slash + 1, *before ? "/" : "", before);
		*(slash == folder ? slash + 1 : slash) = '\0';
		if (slash == folder || (stat(folder, &st) == 0 && S_ISDIR(st.st_mode)))
			break;
	}
	return rest;
}

/* Finds the id of the blob that the base commit has for this path. Its content may be
 * missing in a partial clone. *ret is allocated; it stays NULL if there is no blob. */
static int find_committed(struct errand *x, struct git *g, const char *base, const char *name,
			  char **ret)
{
	char type[8], id[65];

	AUTO_FREE char *line = git_text(g, GIT_WORDS("--literal-pathspecs", "ls-tree", "-z", base,
						     "--", *name ? name : "."));
	if (!line)
		return git_fail(x, g, "compare");
	/* A folder has a tree, and a submodule a commit, in place of a blob. */
	if (sscanf(line, "%*o %7s %64[0-9a-f]", type, id) == 2 && !strcmp(type, "blob"))
		*ret = text_copy(id);
	return 0;
}

static int read_committed(struct errand *x, struct git *g, const char *id, struct side *ret)
{
	AUTO_FREE char *size = git_text(g, GIT_WORDS("cat-file", "-s", id));

	if (!size)
		return git_fail(x, g, "read what was committed");
	if (strlen(size) > 9 || strtoul(size, NULL, 10) > ERRAND_SIDE_MAX)
		return too_large(x);
	g->most = ERRAND_SIDE_MAX;
	if (git_run(g, GIT_WORDS("cat-file", "blob", id)) != 0)
		return git_fail(x, g, "read what was committed");
	*ret = (struct side){ mem_copy(buffer_data(&g->out), buffer_len(&g->out)),
			      buffer_len(&g->out) };
	return 0;
}

/* Reads the whole file. One byte more than the limit is enough to know that the file is
 * too large. */
static int read_file(struct errand *x, int fd, struct side *ret)
{
	*ret = (struct side){ mem_new(ERRAND_SIDE_MAX + 1), 0 };
	while (ret->len <= ERRAND_SIDE_MAX) {
		ssize_t n =
			read(fd, ret->bytes + ret->len, ERRAND_SIDE_MAX + 1 - ret->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errand_fail(x, NULL, errno);
		if (n == 0)
			return 0;
		ret->len += (size_t)n;
	}
	return too_large(x);
}

/* Reads the target of a link, which for git is the link's content. */
static int read_link(struct errand *x, int at, struct side *ret)
{
	*ret = (struct side){ mem_new(PATH_MAX), 0 };
	ssize_t n = readlinkat(at, "", (char *)ret->bytes, PATH_MAX);

	if (n < 0)
		return errand_fail(x, NULL, errno);
	ret->len = (size_t)n;
	return 0;
}

/* Opens the file in the working tree. A repository's link may lead anywhere, also to
 * /proc/self, which is this process; so files in /proc/PID are refused. */
static int open_present(const struct errand *x, int flags, struct stat *ret)
{
	AUTO_CLOSE int fd = files_at(AT_FDCWD, x->path, flags | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || fstat(fd, ret) < 0)
		return -1;
	if (!files_is_of_process(fd))
		return fd_take(&fd);
	errno = EACCES;
	return -1;
}

static int read_present(struct errand *x, struct side *ret)
{
	struct stat st;
	AUTO_CLOSE int at = open_present(x, O_PATH, &st);

	if (at < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0
							   : errand_fail(x, NULL, errno);
	if (S_ISLNK(st.st_mode))
		return read_link(x, at, ret);
	if (!S_ISREG(st.st_mode)) {
		x->end.outcome = S_ISDIR(st.st_mode) ? OUTCOME_IS_FOLDER
						     : OUTCOME_NOT_REGULAR;
		return -1;
	}
	AUTO_CLOSE int fd = open_present(x, O_RDONLY | O_NONBLOCK, &st);
	return fd < 0 ? errand_fail(x, NULL, errno) : read_file(x, fd, ret);
}

static bool is_text(const struct side *s)
{
	return !s->bytes ||
	       (!memchr(s->bytes, 0, s->len) && utf8_is_valid(s->bytes, s->len, false));
}

/* Writes the answer: a line "OLD NEW" with the sizes in bytes, or "-" for a file that
 * does not exist, then both contents. */
static void tell_sides(struct errand *x, const struct side *old, const struct side *new)
{
	char head[64], one[24] = "-", other[24] = "-";

	if (old->bytes)
		(void)snprintf(one, sizeof(one), "%zu", old->len);
	if (new->bytes)
		(void)snprintf(other, sizeof(other), "%zu", new->len);
	int len = snprintf(head, sizeof(head), "%s %s\n", one, other);
	/* cannot fail: the buffer has room for the line and two files of the largest
	 * size */
	(void)buffer_append(&x->text, head, (size_t)len);
	(void)buffer_append(&x->text, old->bytes, old->len);
	(void)buffer_append(&x->text, new->bytes, new->len);
}

static int compare_sides(struct errand *x, struct git *g, const char *rest)
{
	struct side old = { 0 }, new = { 0 };
	AUTO_FREE char *base = is_repository(g) ? find_base(x, g) : NULL;
	AUTO_FREE char *id = NULL;

	if (!base)
		return x->end.outcome != OUTCOME_DONE ? -1 : git_fail(x, g, "compare");
	bool is_read = read_present(x, &new) == 0 &&
		       find_committed(x, g, base, rest, &id) == 0 &&
		       (!id || read_committed(x, g, id, &old) == 0);
	int result = is_read ? 0 : -1;
	if (result == 0 && !old.bytes && !new.bytes)
		result = errand_fail(x, NULL, ENOENT);
	else if (result == 0 && (!is_text(&old) || !is_text(&new)))
		x->end.outcome = OUTCOME_BINARY;
	else if (result == 0)
		tell_sides(x, &old, &new);
	free(old.bytes);
	free(new.bytes);
	return result;
}

void errand_git_diff(struct errand *x)
{
	struct git g;
	char folder[PATH_MAX];

	(void)snprintf(folder, sizeof(folder), "%s", x->path);
	AUTO_FREE char *rest = split(folder);
	if (git_init(&g, x, folder) < 0)
		return;
	g.only_looks = true;
	(void)compare_sides(x, &g, rest);
	git_done(&g);
}
