/* git -- runs the rootfs' own git, one command at a time, in the process of an errand.
 *
 * git runs like any command: with the session's user, variables, limits and filter.
 * The repository may be hostile, so we let git run nothing in it: no hook, no monitor
 * of files, no pager, no credential helper, no other program as transport, no
 * submodules.  (Filters and `core.sshCommand` of a configuration that an agent wrote
 * are run, as its commands are.) git asks for no password.  The variables GIT_* are
 * ours, since some say where the repository is, and some print the data that is sent;
 * of the session's only GIT_SSL_* stay.
 *
 * A secret is the output of a credential helper ("username=...\npassword=...\n").  It
 * goes through a pipe, as descriptor GIT_SECRET_FD, from which a helper that is
 * configured for one server alone reads it, once; no argument, variable or file holds
 * it.  Redirects are not followed then.
 *
 * Tested with git 2.39; 2.23 is needed.
 *
 * Order of calls: git_init, any number of git_run, git_done. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/frame.h"

struct errand;
struct exec;

/* One digit: a POSIX shell can redirect from no other. */
#define GIT_SECRET_FD 9

#define GIT_WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

struct git {
	const struct exec *as;	 /* borrowed; git is on its PATH and runs with its
				  * properties */
	const char *folder;	 /* borrowed; git's working directory, absolute */
	const char *config[2];	 /* borrowed; settings for this command, "KEY=VALUE", or
				  * NULL */
	struct bytes secret;	 /* borrowed; the secret is read only by a credential
				  * helper in `config` */
	bool may_hook;		 /* use the repository's own setting for hooks, to find
				  * their folder */
	bool only_looks;	 /* fetch no objects that a partial clone lacks */
	size_t most;		 /* bytes that git may print; git_init() sets a small
				  * default */
	struct buffer out, said; /* owned; git's output, and its error messages */
	bool is_late;		 /* the errand's time was over, and git was ended */
};

/* Prepares `g`. Returns 0 if `x` has a session whose PATH has git; -1 if not, and the
 * error is reported. */
int git_init(struct git *g, struct errand *x, const char *folder);
void git_done(struct git *g);

/* Runs git with these arguments. Returns its exit code; -1: there is none, since git was
 * not started or a signal ended it. */
int git_run(struct git *g, const char *const *words);
/* Runs git, and returns its output, without the newlines at the end; allocated. NULL: git
 * failed. */
char *git_text(struct git *g, const char *const *words);

/* Reports that git could not do `what`, with git's own reason. Returns -1. */
int git_fail(struct errand *x, const struct git *g, const char *what);

/* Returns "scheme://host:port" of a URL with scheme and host; allocated. NULL: the URL
 * has no such parts. */
char *git_server(const char *url);
