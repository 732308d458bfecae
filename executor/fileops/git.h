/* git -- runs the rootfs' own git, one command at a time, in the process of an errand.
 *
 * git runs like any command: with the session's user, variables, limits and seccomp
 * filter. The repository may be hostile, so git must run no program that the repository
 * names: no hook, no file system monitor, no pager, no credential helper, no transport
 * helper, no submodules. (Filters and `core.sshCommand` in a configuration that an
 * agent wrote are run, as its commands are.) git asks for no password. We set the
 * variables GIT_* ourselves, since some say where the repository is, and some print the
 * data that is sent; of the session's variables GIT_* only GIT_SSL_* are kept.
 *
 * A secret is the output of a credential helper ("username=...\npassword=...\n"). It is
 * in a pipe, descriptor GIT_SECRET_FD, and no argument, variable or file holds it. A
 * helper that is configured for one server alone reads it, once. With a secret, git
 * does not follow redirects.
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

/* A single digit, since a POSIX shell cannot redirect from a larger descriptor. */
#define GIT_SECRET_FD 9

#define GIT_WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

struct git {
	const struct exec *as;	 /* borrowed; the session's user, environment and limits,
				  * with which git runs */
	const char *folder;	 /* borrowed; git's working directory, absolute */
	const char *config[2];	 /* borrowed; settings for this command, "KEY=VALUE", or
				  * NULL */
	struct bytes secret;	 /* borrowed; only a credential helper in `config` reads
				  * the secret */
	bool may_hook;		 /* git uses the repository's setting for the folder of
				  * hooks; else it finds no hooks */
	bool only_looks;	 /* git fetches no objects that a partial clone lacks */
	size_t most;		 /* the most bytes of output; git_init() sets 64 KiB */
	struct buffer out, said; /* owned; git's output, and its error messages */
	bool is_late;		 /* SIGALRM asked the errand to end, so git was ended */
};

/* Prepares `g` for git in `folder`. -1: `x` has no session, or there is no git on the
 * session's PATH; the error is reported. */
int git_init(struct git *g, struct errand *x, const char *folder);
void git_done(struct git *g);

/* Runs git with these arguments. Returns its exit code; -1: there is none, since git was
 * not started or a signal ended it. */
int git_run(struct git *g, const char *const *words);
/* Runs git, and returns its output, without the newlines at the end; allocated. NULL: git
 * failed. */
char *git_text(struct git *g, const char *const *words);

/* Reports "git cannot `what`", with git's own error message. Returns -1. */
int git_fail(struct errand *x, const struct git *g, const char *what);

/* Returns "scheme://host:port" of a URL with scheme and host; allocated. NULL: the URL
 * has no such parts. */
char *git_server(const char *url);
