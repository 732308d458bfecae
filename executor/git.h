/* git -- the rootfs' own git, asked for one thing at a time, in the process of an errand.
 *
 * It is a command like any other: the session's user, variables, limits and filter.  The
 * repository may be anybody's, so nothing in it is run by us: no hook, no monitor of
 * files, no pager, no credential helper, no other program as transport, no submodules.
 * (Filters and `core.sshCommand` of a configuration that an agent wrote are run, as its
 * commands are.)  It asks nobody for a password.  Its variables GIT_* are ours, since
 * some say where the repository is, and some print what is sent; only GIT_SSL_* stay.
 *
 * A secret is what a credential helper says ("username=...\npassword=...\n").  It goes
 * through a pipe, as descriptor GIT_SECRET_FD, out of which a helper that is configured
 * for one server alone reads it, once; no argument, variable or file has it.  Redirects
 * are not followed then.
 *
 * Tried with git 2.39; 2.23 is needed.
 *
 * git_init, any number of git_run, git_done. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/frame.h"

struct errand;
struct exec;

/* One digit: a POSIX shell reads from no other. */
#define GIT_SECRET_FD 9

#define GIT_WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

struct git {
	const struct exec *as;	 /* borrowed; whose PATH has it, and as what it runs */
	const char *folder;	 /* borrowed; where it runs, absolute */
	const char *config[2];	 /* borrowed; "KEY=VALUE", or NULL */
	struct bytes secret;	 /* borrowed; with one of these for the helper */
	bool may_hook;		 /* tell where hooks are, as the repository has it */
	bool only_looks;	 /* fetch nothing that a partial clone has not */
	size_t most;		 /* bytes that it may print: its default is short */
	struct buffer out, said; /* owned; what it printed, and complained of */
	bool is_late;		 /* the errand's time was over, and it was ended */
};

/* Where `x` is done for a session whose PATH has git; else it says why not: -1. */
int git_init(struct git *g, struct errand *x, const char *folder);
void git_done(struct git *g);

/* Its exit code; -1: it came to none. */
int git_run(struct git *g, const char *const *words);
/* What it printed, without the newline at the end; allocated.  NULL: it failed. */
char *git_text(struct git *g, const char *const *words);

/* Says of the errand that git could not do this, and in git's words why.  -1. */
int git_fail(struct errand *x, const struct git *g, const char *what);

/* "scheme://host:port" of a URL that has both; allocated.  NULL: it has not. */
char *git_server(const char *url);
