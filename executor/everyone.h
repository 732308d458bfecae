/* everyone -- all processes inside but the executor, as one.
 *
 * kill(2) of -1 from a pid namespace's init is every other process of it: orphans,
 * sessions of their own, other users.  Who forks meanwhile is hit with the child
 * (copy_process(), since 4.20).  The kernel judges each one: the same user, or
 * CAP_KILL over it, which the executor has where there are several (caps.h), over
 * user namespaces made inside, too.  It does not tell whom it spared.
 *
 * *Paused* is from a SIGSTOP to everyone to the next SIGCONT to everyone, or while
 * others hold them: the supervisor by a cgroup's freezer, or a process that traces them
 * (freezer.h).  Time stands still meanwhile:
 * everyone_now() is what time-outs of actions go by.
 *
 * A shell with job control waits for stopped children, too.  One that sees its
 * foreground job stopped goes on without it, and that must not happen for us.  So
 * who leads a terminal (struct leader) is stopped first, and the rest when the
 * kernel says that these have; and the foreground of a terminal is continued before
 * its leader is.  What has shells of its own below that may notice. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

/* A child of ours on a terminal. */
struct leader {
	pid_t pid;  /* not reaped */
	int master; /* borrowed; -1: it has hung up */
};

struct leaders {
	struct leader *all; /* owned */
	size_t count;
};

void leaders_add(struct leaders *l, pid_t pid, int master);
void leaders_done(struct leaders *l);

/* Zero: nothing happened yet. */
struct everyone {
	int64_t since; /* paused since then, in ms of clock.h; 0: not paused */
	int64_t stood; /* how long the pauses were that are over */
	int64_t due;   /* leaders are waited for, or asked again, then; 0: they are not */
	uint32_t asked; /* how many SIGSTOPs there were, */
	uint32_t stopped; /* and which of these all have got; a SIGCONT may be between */
	bool is_held;	/* paused by others, who need no signal of ours */
	bool is_traced; /* and by a tracer: a process that starts then is not stopped */
	bool is_ending; /* all were asked to end: nothing starts by itself any more */
};

/* `now` is in ms of clock.h in all of these.
 *
 * -1: we are no init, and everyone would be everyone. */
int everyone_signal(struct everyone *a, int signo, const struct leaders *l, int64_t now,
		    struct err *e);

/* The supervisor stops them by other means, or no longer. */
void everyone_hold(struct everyone *a, bool is_held, int64_t now);

/* A process that traces them stops them, or no longer. */
void everyone_trace(struct everyone *a, bool is_traced, int64_t now);

/* Asks all to end, paused or not, and interactive shells in their own way. */
int everyone_ask_to_end(struct everyone *a, const struct leaders *l, int64_t now,
			struct err *e);

/* While everyone_due() is not 0: after SIGCHLD, and when it has come. */
void everyone_look(struct everyone *a, const struct leaders *l, int64_t now);
int64_t everyone_due(const struct everyone *a);

/* Such a look leads to one of these steps, where all leaders stand or do not. */
enum everyone_step {
	EVERYONE_WAITS,
	EVERYONE_STOPS,	 /* the rest is stopped, too */
	EVERYONE_IS_ASKED, /* those on terminals are asked to end once more */
};
enum everyone_step everyone_step(const struct everyone *a, bool all_stand, int64_t now);

/* True when there is nobody, not even somebody to be reaped. */
bool everyone_is_gone(void);

/* Everyone's time at `now`, in ms.  It stands still while paused, and so it is the same
 * for one `now`, whether a pause begins or ends then. */
int64_t everyone_now(const struct everyone *a, int64_t now);
/* How long poll(2) is to wait from `now` on until `due` of everyone's time, INT64_MAX:
 * for ever.  -1: until something else happens. */
int everyone_wait(const struct everyone *a, int64_t due, int64_t now);
bool everyone_is_paused(const struct everyone *a);
/* And by signals: who is new has to get one. */
bool everyone_is_stopped(const struct everyone *a);
