/* subreaper -- starts a command without namespaces, and ends all processes that the
 * command starts.
 *
 * The subreaper is a process between the launcher and the command, in a session of
 * its own.  It is the subreaper (prctl(2)) of every process that the command starts:
 * a process that loses its parent becomes the subreaper's child.  The subreaper ends
 * all these processes when the command has ended, when the launcher tells it to, and
 * when the launcher is gone, SIGKILL included; then it removes the command's private
 * folder.
 *
 * From Landlock's ABI 6 on, the subreaper is in a domain that scopes signals, and so
 * are the processes that it starts: its kill(-1) reaches all of these processes and
 * no others, at once.  With an older ABI the subreaper kills its children, over and
 * over, until there is none.
 *
 *	subreaper_start
 *	in a loop: poll(2) on `line` and `failure`; subreaper_hear(), subreaper_hear_failure();
 *		subreaper_signal(), subreaper_end()
 *	subreaper_done
 *
 * If the subreaper is killed itself, the command is killed too (PR_SET_PDEATHSIG),
 * and subreaper_done() ends the processes that are left, since the launcher is a
 * subreaper too.  If both are killed at once, processes that the command has started
 * live on. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct exec;
struct failed;
struct landlock_rules;
struct seccomp_program;
struct overlay_upper;

#define SUBREAPER_FILTERS 5

struct subreaper_parts { /* all members are borrowed */
	const struct exec *exec;
	const struct landlock_rules *rules;
	unsigned spares; /* enum landlock_spares */
	const struct seccomp_program *filters[SUBREAPER_FILTERS];
	size_t filter_count;
	const int *stdio; /* three descriptors: stdin, stdout, stderr of the command */
	struct overlay_upper *folder;
};

struct subreaper {
	pid_t pid;   /* pid of the subreaper; 0: none */
	int line;    /* owned; the socket to the subreaper; -1: none */
	int failure; /* owned; the pipe that reports a failed start and closes when the
		      * command has begun; -1: it was read */
};

/* The report of how the command ended. */
struct subreaper_news {
	int status;	       /* wait status of the command, as waitpid(2) has it */
	int64_t user_us, sys_us; /* processor time of all processes that were waited
				  * for */
};

enum subreaper_heard { SUBREAPER_NOTHING, SUBREAPER_NEWS, SUBREAPER_GONE };

void subreaper_init(struct subreaper *k);
int subreaper_start(const struct subreaper_parts *parts, struct subreaper *ret,
		    struct err *e);

/* Reads from the socket `line`.  SUBREAPER_NEWS: the command and all processes that
 * it started have ended.  SUBREAPER_GONE: the subreaper was killed.
 * SUBREAPER_NOTHING: no report has come. */
enum subreaper_heard subreaper_hear(struct subreaper *k, struct subreaper_news *ret);

/* Reads the failure pipe and closes `failure`.  Returns 1: the command has begun.  0:
 * the program could not be started, and `ret` says why.  -1: a step before that
 * failed, and `e` says why. */
int subreaper_hear_failure(struct subreaper *k, struct failed *ret, struct err *e);

/* Asks the subreaper to signal the command's process group. */
void subreaper_signal(const struct subreaper *k, int signo);
/* Asks the subreaper to end all processes of the command; its report (SUBREAPER_NEWS)
 * still comes. */
void subreaper_end(const struct subreaper *k);

/* Ends all processes of the command, and waits until the private folder is gone. */
void subreaper_done(struct subreaper *k);
