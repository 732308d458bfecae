#include "executor/fileops/errand.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/list.h"
#include "base/own.h"
#include "executor/fileops/git.h"
#include "executor/session/shell_quote.h"

/* --- a repository's state
 * ------------------------------------------------------------ */

/* Adds a line "KEY VALUE" to the answer's text. */
static void tell(struct errand *x, const char *key, const char *value)
{
	AUTO_FREE char *shown = shell_quote_shown(value);
	AUTO_FREE char *line = text_format("%s %s", key, shown);

	(void)errand_line(x, line, strlen(line)); /* cannot fail: the lines are few and
						   * short */
}

/* Reports by how many commits the branch is ahead of its upstream, and behind it; git
 * prints "AHEAD\tBEHIND". */
static void tell_distance(struct errand *x, struct git *g)
{
	AUTO_FREE char *both =
		git_text(g, GIT_WORDS("rev-list", "--left-right", "--count",
				      "HEAD...@{upstream}", "--"));
	unsigned long long ahead, behind;

	if (!both || sscanf(both, "%12llu %12llu", &ahead, &behind) != 2)
		return;
	AUTO_FREE char *a = text_format("%llu", ahead), *b = text_format("%llu", behind);
	tell(x, "ahead", a);
	tell(x, "behind", b);
}

/* Reports the repository's branch, commit and upstream, as far as they exist. */
static void tell_state(struct errand *x, struct git *g)
{
	AUTO_FREE char *branch =
		git_text(g, GIT_WORDS("symbolic-ref", "--quiet", "--short", "HEAD"));
	AUTO_FREE char *commit = git_text(
		g, GIT_WORDS("rev-parse", "--verify", "--quiet", "HEAD^{commit}"));
	AUTO_FREE char *upstream =
		git_text(g, GIT_WORDS("rev-parse", "--abbrev-ref", "--symbolic-full-name",
				      "@{upstream}"));

	if (branch)
		tell(x, "branch", branch);
	if (commit)
		tell(x, "commit", commit);
	if (upstream) {
		tell(x, "upstream", upstream);
		tell_distance(x, g);
	}
}

/* --- clone ------------------------------------------------------------------------ */

/* A credential helper (gitcredentials(7)) that prints the secret for "get". git also
 * calls it with "store" and "erase", where it prints nothing. */
#define HELPER "!f() { test \"$1\" = get && cat <&9; }; f"
_Static_assert(GIT_SECRET_FD == 9, "the helper reads from another descriptor");

static void clone_words(const struct errand *x, const char *depth, const char *words[16])
{
	const struct errand_request *ask = x->ask;
	size_t n = 0;

	words[n++] = "clone";
	words[n++] = "--quiet";
	if (ask->include[0]) {
		words[n++] = "--branch";
		words[n++] = ask->include;
	}
	if (ask->depth) {
		words[n++] = "--depth";
		words[n++] = depth;
	}
	words[n++] = "--";
	words[n++] = ask->other;
	words[n++] = x->path;
	words[n] = NULL;
}

static int clone(struct errand *x, struct git *g)
{
	AUTO_FREE char *server = git_server(x->ask->other);
	AUTO_FREE char *helper =
		text_format("credential.%s.helper=" HELPER, server ? server : "");
	AUTO_FREE char *depth = text_format("%u", x->ask->depth);
	AUTO_FREE char *what = text_format("clone %s", x->ask->other);
	const char *words[16];

	if (x->ask->secret.len > 0) {
		if (!server)
			return errand_refuse(
				x, "a token is for one server, but the URL names none.");
		g->secret = x->ask->secret;
		g->config[0] = helper;
		g->config[1] = "http.followRedirects=false";
	}
	clone_words(x, depth, words);
	int code = git_run(g, words);
	g->secret = (struct bytes){ 0 };
	g->config[0] = g->config[1] = NULL;
	return code == 0 ? 0 : git_fail(x, g, what);
}

void errand_git_clone(struct errand *x)
{
	struct git g;

	if (git_init(&g, x, "/") < 0)
		return;
	if (clone(x, &g) == 0) {
		g.folder = x->path;
		tell_state(x, &g);
	}
	git_done(&g);
}

/* --- branch ----------------------------------------------------------------------- */

static int switch_to(struct errand *x, struct git *g)
{
	const char *name = x->ask->other;
	bool is_new = x->ask->flags & ERRAND_CREATE;
	AUTO_FREE char *what =
		text_format("%s the branch %s", is_new ? "make" : "go to", name);

	/* A refused name could mean something else to git switch: `-x` would be an
	 * option, and `@{-1}` the previous branch. */
	if (git_run(g, GIT_WORDS("check-ref-format", "--allow-onelevel", name)) != 0 ||
	    *name == '-') {
		AUTO_FREE char *why = text_format("%s is not a valid branch name.", name);
		return g->is_late ? git_fail(x, g, what) : errand_refuse(x, why);
	}
	int code = is_new ? git_run(g, GIT_WORDS("switch", "--quiet", "--create", name))
			  : git_run(g, GIT_WORDS("switch", "--quiet", name));
	return code == 0 ? 0 : git_fail(x, g, what);
}

/* Prepares git in the request's folder, which must exist. If the folder is no
 * repository, git itself reports that. */
static int begin(struct errand *x, struct git *g)
{
	AUTO_CLOSE int folder = errand_open_folder(x);

	return folder < 0 ? -1 : git_init(g, x, x->path);
}

void errand_git_branch(struct errand *x)
{
	struct git g;

	if (begin(x, &g) < 0)
		return;
	if (switch_to(x, &g) == 0)
		tell_state(x, &g);
	git_done(&g);
}

/* --- setup ------------------------------------------------------------------------ */

static bool is_safe_already(struct git *g, const char *top)
{
	AUTO_FREE char *all = git_text(
		g, GIT_WORDS("config", "--global", "--get-all", "safe.directory"));
	char *rest = all;

	for (char *one; rest && (one = strsep(&rest, "\n"));)
		if (!strcmp(one, top))
			return true;
	return false;
}

static int set(struct errand *x, struct git *g, const char *key, const char *value)
{
	AUTO_FREE char *what = text_format("set %s", key);

	if (!*value)
		return 0;
	if (git_run(g, GIT_WORDS("config", "--global", key, value)) != 0)
		return git_fail(x, g, what);
	tell(x, key, value);
	return 0;
}

/* Adds the folder to safe.directory, so that git accepts it though another user owns it.
 * git compares real paths, so the links in the path are resolved. */
static int make_safe(struct errand *x, struct git *g)
{
	static const char key[] = "safe.directory";
	AUTO_FREE char *top = realpath(x->path, NULL);
	int code = 0;

	if (!top)
		return errand_fail(x, NULL, errno);
	if (!is_safe_already(g, top))
		code = git_run(g, GIT_WORDS("config", "--global", "--add", key, top));
	if (code != 0)
		return git_fail(x, g, "set safe.directory");
	tell(x, key, top);
	return 0;
}

/* Makes a repository in the folder, if the request asks for one. An existing repository
 * stays as it is. */
static int init(struct errand *x, struct git *g)
{
	AUTO_FREE char *path = text_format("%s/.git", x->path);
	struct stat st;

	if (!(x->ask->flags & ERRAND_CREATE) || lstat(path, &st) == 0)
		return 0;
	if (git_run(g, GIT_WORDS("init", "--quiet")) != 0)
		return git_fail(x, g, "make a repository");
	tell(x, "init", x->path);
	return 0;
}

void errand_git_setup(struct errand *x)
{
	struct git g;

	if (begin(x, &g) < 0)
		return;
	if (make_safe(x, &g) == 0 && set(x, &g, "user.name", x->ask->other) == 0 &&
	    set(x, &g, "user.email", x->ask->include) == 0)
		(void)init(x, &g);
	git_done(&g);
}
