/* keeper -- starts a command without namespaces, and ends all that comes of it.
 *
 * The keeper is a process between the launcher and the command, in a session of
 * its own.  It is the subreaper (prctl(2)) of everything that the command
 * starts: a process that loses its parent becomes the keeper's child.  The
 * keeper ends them all when the command has ended, when it is told to, and when
 * the launcher is gone, SIGKILL included; then it removes their private folder.
 *
 * From Landlock's ABI 6 on, the keeper is in a domain that scopes signals, and
 * what it starts is in that domain too: its kill(-1) reaches all of these
 * processes and no others, at once.  Before, it kills its children, over and
 * over, until there is none.
 *
 *	keeper_start
 *	in a loop: poll(2) on `line` and `failure`; keeper_hear(), keeper_hear_failure();
 *		keeper_signal(), keeper_end()
 *	keeper_done
 *
 * If the keeper is killed itself, the command is too (PR_SET_PDEATHSIG), and
 * keeper_done() ends what is left, since the launcher is a subreaper too.  If
 * both are killed at once, processes that the command has started live on. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct exec;
struct failed;
struct grants;
struct seccomp_program;
struct upper;

#define KEEPER_FILTERS 5

struct keeper_parts { /* all borrowed */
	const struct exec *exec;
	const struct grants *grants;
	unsigned spares; /* enum landlock_spares */
	const struct seccomp_program *filters[KEEPER_FILTERS];
	size_t filter_count;
	const int *stdio; /* three descriptors */
	struct upper *folder;
};

struct keeper {
	pid_t pid;   /* 0: none */
	int line;    /* owned; -1: none */
	int failure; /* owned; closes when the command has begun, or could not; -1: it
		      * has */
};

/* How the command ended. */
struct keeper_news {
	int status;	       /* as waitpid(2) has it */
	int64_t user_us, sys_us; /* of all processes that were waited for */
};

enum keeper_heard { KEEPER_NOTHING, KEEPER_NEWS, KEEPER_GONE };

void keeper_init(struct keeper *k);
int keeper_start(const struct keeper_parts *parts, struct keeper *ret, struct err *e);

/* Reads the line.  NEWS: the command, and everything that it had started, has
 * ended.  GONE: the keeper was killed. */
enum keeper_heard keeper_hear(struct keeper *k, struct keeper_news *ret);

/* Closes `failure`.  1: the command has begun.  0: a program could not be started, and
 * `ret` says why.  -1: a step before that failed. */
int keeper_hear_failure(struct keeper *k, struct failed *ret, struct err *e);

/* Signals the command's process group. */
void keeper_signal(const struct keeper *k, int signo);
/* Ends everything; NEWS still comes. */
void keeper_end(const struct keeper *k);

/* Ends everything, and waits until the private folder is gone. */
void keeper_done(struct keeper *k);
