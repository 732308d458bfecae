#include "executor/session/session_action.h"

#include <signal.h>
#include <sys/ioctl.h>

#include "base/own.h"
#include "base/term_keys.h"
#include "executor/process/tree.h"
#include "executor/session/session.h"
#include "executor/session/session_output.h"
#include "protocol/action.h"

/* The delays between the steps of a cancellation: from SIGINT to the second SIGINT, from
 * there to SIGKILL for the foreground process group, and from there to SIGKILL for the
 * shell. */
#define KILL_MS	      1000
#define AGAIN_MS      100
#define KILL_SHELL_MS 200
/* A signal is held back until bash has surely read and parsed the command: for EARLY_MS,
 * and for 1 ms more for each 4 KiB of text.  A SIGINT before that makes bash forget the
 * part that it has read, and the rest would be run as a command of its own.  It would
 * also miss a program that bash is just starting, which is not in the foreground yet. */
#define EARLY_MS      50
#define EARLY_SHIFT   12
/* After a ^C that may have been lost, since the program was ending or starting anyway,
 * its effect is checked after this delay, and at most HITS_MAX times. */
#define HIT_MS	 20
#define HITS_MAX 50
/* Before a key that sends a signal is shown on the screen, at most this many bytes of
 * output are read: more than the kernel buffers for a terminal. */
#define READ_FIRST (64u << 10)
/* How much drawing work that reading may take: enough if the bytes are lines of text. */
#define SIGNAL_WORK (32 * SESSION_WORK)
/* Longer time-outs, in ms, are cut to this value, so that adding the present time cannot
 * overflow. */
#define TIMEOUT_MAX (INT64_C(1) << 50)

/* --- requests -------------------------------------------------------------- */

static int64_t limited(uint64_t ms)
{
	return ms > (uint64_t)TIMEOUT_MAX ? TIMEOUT_MAX : (int64_t)ms;
}

static void begin_action(struct session *s, uint32_t id, const struct run_request *r,
			 int64_t now)
{
	s->action = (struct session_action){
		.id = id,
		.kind = r->kind,
		.flags = r->flags,
		.soft_ms = limited(r->soft_ms),
		.soft_due = r->soft_ms ? now + limited(r->soft_ms) : INT64_MAX,
		.hard_due = r->hard_ms ? now + limited(r->hard_ms) : INT64_MAX,
	};
	s->carry_len = 0;
}

static bool is_busy(const struct session *s)
{
	return s->state == SESSION_RUNNING || s->is_pending;
}

static void run_command(struct session *s, struct bytes command, int64_t now)
{
	if (is_busy(s)) {
		session_answer(s, REPORT_BUSY, 0);
		return;
	}
	session_tell_previous(s);
	session_command(s, command, now);
}

/* --- input and keys -------------------------------------------------------- */

static int64_t signal_due(const struct session *s)
{
	return s->begun + EARLY_MS + (int64_t)(s->pending_len >> EARLY_SHIFT);
}

/* Shows a key that sends a signal on the screen, as a terminal with echo shows ^C: after
 * all output that was printed before the key was typed. */
static void show_signal(struct session *s, int64_t now)
{
	const char shown[] = { '^', (char)(s->key ^ 0x40) };

	size_t max = READ_FIRST;

	if (!terminal_has_signals(&s->shell.terminal))
		return;
	s->work = SIGNAL_WORK;
	(void)session_read(s, &max, now);
	session_show(s, shown, sizeof(shown));
}

static pid_t foreground_of(const struct session *s)
{
	pid_t group = 0;

	return ioctl(s->shell.terminal.master, TIOCGPGRP, &group) == 0 ? group : 0;
}

/* Returns true if a ^C that is typed now may have no effect.  A shell's loop (`while
 * true; do date; done`) goes on if its program is ending by itself when ^C comes, has not
 * called execve(2) yet, or has just ended: the shell sees a program that ended normally.
 * Therefore the foreground is checked a moment later, and if another program is there, ^C
 * is typed again.  This is not done for a program that handles SIGINT: it may end
 * normally, and the loop goes on as in any terminal.  Must be called before the key is
 * typed: a program that has handled the key may already have ended when /proc is read,
 * and the second ^C would interrupt the next command. */
static bool may_be_lost(const struct session *s, pid_t group)
{
	const pid_t shell = s->shell.leader;

	if (s->key != ('c' & 0x1f) || s->proc < 0 || group <= 1 || s->hits == HITS_MAX)
		return false;
	return group == shell || s->was_shell ||
	       !tree_minds_signal(s->proc, group, SIGINT);
}

static void send_signal(struct session *s, int64_t now)
{
	pid_t group = foreground_of(s);

	s->is_interrupted = true;
	s->hit = group;
	/* Compared before the key is typed: if a copy of the shell misses the signal, it
	 * may have become the program already when the key was typed. */
	s->was_shell = s->proc >= 0 &&
		       tree_compare_arguments(s->proc, group, s->shell.leader) ==
			       TREE_SAME_ARGUMENTS;
	s->hit_due = may_be_lost(s, group) ? now + HIT_MS : INT64_MAX;
	(void)shell_type(&s->shell, &s->key, 1); /* fails if the queue is full, since the
						  * program does not read; a cancellation
						  * still kills the program */
	shell_ask_again(&s->shell);
}

static void type_signal(struct session *s, int64_t now)
{
	show_signal(s, now);
	s->key_due = INT64_MAX;
	s->hits = 0;
	send_signal(s, now);
}

/* Returns true if the foreground is now another program than the one that got ^C.  That
 * includes a copy of the shell that has called execve(2) since: as a program it never got
 * the signal. */
static bool is_another(const struct session *s)
{
	if (foreground_of(s) != s->hit)
		return true;
	return s->was_shell && tree_compare_arguments(s->proc, s->hit, s->shell.leader) ==
				       TREE_OTHER_ARGUMENTS;
}

/* Checks the effect of a ^C.  The delay grows with each check, for programs that are slow
 * to end or to start. */
static void hit_again(struct session *s, int64_t now)
{
	s->hits++;
	if (is_another(s))
		send_signal(s, now);
	else
		s->hit_due = s->hits < HITS_MAX ? now + HIT_MS * s->hits : INT64_MAX;
}

static void press(struct session *s, struct bytes name, int64_t now)
{
	char bytes[KEY_MAX];
	size_t len = key_find(name, bytes);

	if (len == 0) {
		session_refuse(s, REPORT_UNKNOWN_KEY);
		return;
	}
	if (s->screen.has_application_keys)
		key_for_application(bytes, len);
	if (!key_is_signal(bytes, len)) {
		s->hit_due = INT64_MAX;			 /* as in type() */
		(void)shell_type(&s->shell, bytes, len); /* fails if the queue is full:
							  * the program does not read */
		return;
	}
	s->key = bytes[0];
	s->key_due = signal_due(s);
	if (now >= s->key_due)
		type_signal(s, now);
}

/* Types a line and the Enter key.  The last ^C is not typed again: the line is for a
 * program that the user knows to run after it, and another program may follow. */
static void type(struct session *s, struct bytes line)
{
	s->hit_due = INT64_MAX;
	if (shell_type(&s->shell, line.data, line.len))
		(void)shell_type(&s->shell, "\r", 1);
}

void session_run(struct session *s, uint32_t id, const struct run_request *r,
		 int64_t now)
{
	begin_action(s, id, r, now);
	if (r->kind == RUN_COMMAND)
		run_command(s, r->text, now);
	else if (s->is_unread)
		session_answer(s, REPORT_COMPLETED,
			       r->kind == RUN_WAIT ? 0 : REPORT_NOT_TYPED);
	else if (!is_busy(s))
		session_refuse(s, REPORT_NOTHING);
	else if (r->kind == RUN_INPUT && s->state == SESSION_RUNNING)
		type(s, r->text);
	else if (r->kind == RUN_KEY && s->state == SESSION_RUNNING)
		press(s, r->text, now);
}

/* --- cancellation ---------------------------------------------------------- */

/* Sends SIGINT to the foreground process group as ^C does, by TIOCSIG on the master
 * (since 2.6.37).  Unlike kill(2) it works whatever user ids the processes have; unlike
 * typing ^C it works in every mode of the terminal. */
static void interrupt(struct session *s)
{
	(void)ioctl(s->shell.terminal.master, TIOCSIG, SIGINT);
	shell_ask_again(&s->shell);
}

static void kill_foreground(const struct session *s)
{
	pid_t group = 0;

	if (ioctl(s->shell.terminal.master, TIOCGPGRP, &group) == 0 && group > 1)
		(void)kill(-group, SIGKILL);
}

/* The steps of a cancellation: SIGINT, SIGINT again, SIGKILL to the foreground process
 * group, and SIGKILL to the shell, which may be part of that group.  The second SIGINT is
 * there because the first one is lost if bash is just starting a program (on a busy
 * machine that may take longer than EARLY_MS).  The shell must be killed because it would
 * go on with the rest of its line after its program was killed. */
static const struct {
	enum kill_step step;
	int64_t then_ms; /* the delay until the next step; 0: this is the last step */
} ladder[] = {
	{ KILL_INTERRUPTS, KILL_MS },
	{ KILL_INTERRUPTS, AGAIN_MS },
	{ KILL_ENDS_FOREGROUND, KILL_SHELL_MS },
	{ KILL_ENDS_SHELL, 0 },
};

enum kill_step session_kill_step(struct session_action *a, int64_t now)
{
	if (a->kills == 0 || a->kills > ARRAY_LEN(ladder) || now < a->kill_due)
		return KILL_WAITS;
	const int64_t then = ladder[a->kills - 1].then_ms;
	a->kill_due = then ? now + then : INT64_MAX;
	return ladder[a->kills++ - 1].step;
}

static void kill_more(struct session *s, int64_t now)
{
	switch (session_kill_step(&s->action, now)) {
	case KILL_WAITS:
		return;
	case KILL_INTERRUPTS:
		return interrupt(s);
	case KILL_ENDS_FOREGROUND:
		return kill_foreground(s);
	case KILL_ENDS_SHELL:
		if (s->shell.pid > 0)
			(void)kill(s->shell.pid, SIGKILL);
	}
}

void session_cancel(struct session *s, int64_t now)
{
	int64_t due = signal_due(s);

	s->action.kills = 1;
	s->action.kill_due = now < due ? due : now;
	if (s->is_pending) {
		session_drop_command(s);
		s->status = 128 + SIGINT;
		session_answer(s, REPORT_CANCELLED, 0);
		return;
	}
	kill_more(s, now);
}

void session_hold(struct session *s, bool is_held, int64_t now)
{
	struct session_action *a = &s->action;

	a->is_held = is_held && (a->flags & RUN_STREAM);
	if (a->soft_ms)
		a->soft_due = a->is_held ? INT64_MAX : now + a->soft_ms;
}

void session_heard(struct session *s, int64_t now)
{
	struct session_action *a = &s->action;

	if (a->id && a->soft_ms && !a->is_held)
		a->soft_due = now + a->soft_ms;
}

/* --- due steps -------------------------------------------------------------- */

static bool is_beginning(const struct session *s)
{
	return s->state == SESSION_STARTING || s->state == SESSION_SETTING;
}

int64_t session_due(const struct session *s)
{
	int64_t own = s->inner_due < s->key_due ? s->inner_due : s->key_due;
	own = s->hit_due < own ? s->hit_due : own;
	int64_t due = is_beginning(s) ? s->start_due : own;
	const struct session_action *a = &s->action;

	if (!a->id)
		return due;
	if (a->kills)
		return a->kill_due < due ? a->kill_due : due;
	if (a->soft_due < due)
		due = a->soft_due;
	return a->hard_due < due ? a->hard_due : due;
}

/* Returns which time-out of an action has passed, as a part of the result of
 * session_overdue().  If both have passed, only the earlier one counts. */
static unsigned action_overdue(const struct session_action *a, int64_t now)
{
	if (!a->id)
		return 0;
	if (a->kills)
		return now >= a->kill_due ? OVERDUE_KILL : 0;
	if (now < a->soft_due && now < a->hard_due)
		return 0;
	return a->soft_due <= a->hard_due ? OVERDUE_SOFT : OVERDUE_HARD;
}

unsigned session_overdue(const struct session *s, int64_t now)
{
	unsigned due = action_overdue(&s->action, now);

	if (is_beginning(s) && now >= s->start_due)
		due |= OVERDUE_START;
	if (s->state == SESSION_RUNNING && now >= s->key_due)
		due |= OVERDUE_KEY;
	if (!is_beginning(s) && now >= s->inner_due)
		due |= OVERDUE_INNER;
	if (s->state == SESSION_RUNNING && now >= s->hit_due)
		due |= OVERDUE_HIT;
	return due;
}

void session_expire(struct session *s, int64_t now)
{
	unsigned due = session_overdue(s, now);

	/* A shell that takes too long to start is killed; when its death is noticed,
	 * another one is started (died_starting()). */
	if (due & OVERDUE_START && s->is_put_off)
		session_start_late(s, now);
	else if (due & OVERDUE_START) {
		s->start_due = INT64_MAX;
		if (s->shell.pid > 0)
			(void)kill(s->shell.pid, SIGKILL);
	}
	if (due & OVERDUE_KEY) {
		type_signal(s, now);
		due = session_overdue(s, now); /* checked again, since type_signal() may
					        * have read output, which puts the soft
					        * time-out off */
	}
	if (due & OVERDUE_HIT)
		hit_again(s, now);
	if (due & OVERDUE_INNER)
		session_type_inner(s, now);
	if (due & OVERDUE_KILL)
		kill_more(s, now);
	if (due & OVERDUE_SOFT)
		session_answer(s, REPORT_NO_CHANGE, 0);
	if (due & OVERDUE_HARD)
		session_answer(s, REPORT_TIMED_OUT, 0);
}
