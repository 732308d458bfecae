#include "base/wait_line.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/await.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/note.h"
#include "base/own.h"
#include "base/term_escape.h"
#include "base/worker.h"

#define STEP_MS	    1000
#define COLUMNS	    80 /* columns that are used if the terminal's size is not known */
#define COLUMNS_MAX 1000

size_t wait_line_columns(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col < 2)
		return COLUMNS - 1;
	return (size.ws_col < COLUMNS_MAX ? size.ws_col : COLUMNS_MAX) - 1u;
}

static bool is_wanted(void)
{
	const char *term = getenv("TERM");

	return isatty(STDERR_FILENO) && !note_is_silent() &&
	       !(term && !strcmp(term, "dumb"));
}

void wait_line_begin(struct wait_line *w, int64_t now)
{
	*w = (struct wait_line){ .began_ms = now,
				 .due_ms = is_wanted() ? now + WAIT_LINE_MS : 0,
				 .leash = -1 };
}

int64_t wait_line_due(const struct wait_line *w)
{
	return w->due_ms;
}

void wait_line_draw(struct wait_line *w, const char *text, int64_t now)
{
	if (!clock_is_due(w->due_ms, now))
		return;
	AUTO_FREE char *safe = term_escape_line(text);
	AUTO_FREE char *line = text_format("hutch: %s (%lld s)", safe,
					   (long long)(now - w->began_ms) / 1000);
	(void)fprintf(stderr, "\r%.*s\033[K", (int)wait_line_columns(), line);
	(void)fflush(stderr);
	w->due_ms = now + STEP_MS;
	w->is_drawn = true;
}

void wait_line_hide(struct wait_line *w)
{
	if (w->is_drawn)
		(void)fprintf(stderr, "\r\033[K");
	w->is_drawn = false;
}

void wait_line_end(struct wait_line *w)
{
	wait_line_hide(w);
	w->due_ms = 0;
}

/* --- around a call that blocks ----------------------------------------------------- */

/* Draws in the child until the parent lets go of its end of the socket, or dies.  The
 * signals that end the parent are ignored, so that the line is erased after them, too;
 * Ctrl-Z stops both. */
__attribute__((noreturn)) static void tell(struct wait_line *w, const char *text,
					   int leash)
{
	static const int ignored[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };

	for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
		(void)signal(ignored[i], SIG_IGN);
	while (await_ready(leash, POLLIN, wait_line_due(w)) == 0)
		wait_line_draw(w, text, clock_ms());
	wait_line_end(w);
	_exit(0);
}

void wait_line_start(struct wait_line *w, const char *text)
{
	const int was = errno;
	int ends[2];

	wait_line_begin(w, clock_ms());
	if (w->due_ms && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0) {
		const pid_t pid = fork();
		if (pid == 0) {
			(void)close(ends[0]);
			tell(w, text, ends[1]);
		}
		(void)close(ends[1]);
		w->leash = ends[0];
		w->teller = pid > 0 ? pid : 0;
	}
	w->due_ms = 0;
	errno = was;
}

/* A process that was started meanwhile may hold the parent's end, too; shutdown(2) ends
 * the connection all the same. */
void wait_line_stop(struct wait_line *w)
{
	const int was = errno;

	if (w->leash >= 0)
		(void)shutdown(w->leash, SHUT_RDWR);
	own_close(&w->leash);
	if (w->teller)
		(void)worker_reap(w->teller);
	w->teller = 0;
	errno = was;
}
