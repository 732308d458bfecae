/* wait_line -- one line on a terminal that says what hutch is waiting for.
 *
 * The line is written to stderr when the wait has taken WAIT_LINE_MS, and drawn again
 * each second with the seconds that have passed; at the end it is erased.  Nothing is
 * written where stderr is no terminal that can redraw a line, or where notes are off
 * (base/note.h).
 *
 * In a caller's loop:
 *
 *	wait_line_begin		before the loop
 *	wait_line_draw		after each poll(2), whose time-out wait_line_due() bounds
 *	wait_line_end
 *
 * Around a call that blocks, a child process draws the line:
 *
 *	wait_line_start, the call, wait_line_stop
 *
 * Meanwhile the caller must print nothing.  `now` is in ms of base/clock.h. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define WAIT_LINE_MS 2000

struct wait_line {
	int64_t began_ms;
	int64_t due_ms; /* when the line is drawn next; 0: never */
	bool is_drawn;	/* the line is on the terminal now */
	pid_t teller;	/* of wait_line_start(): the child; 0: none */
	int leash;	/* owned: the socket whose end tells the child to end; -1: none */
};

void wait_line_begin(struct wait_line *w, int64_t now);

/* Returns the time at which the line has to be drawn, for clock_wait(); 0: never. */
int64_t wait_line_due(const struct wait_line *w);

/* Draws the line, if it is due: "hutch: TEXT (5 s)", cut to the terminal's width.  The
 * text is made safe for the terminal. */
void wait_line_draw(struct wait_line *w, const char *text, int64_t now);
void wait_line_end(struct wait_line *w);

/* Erases the line until it is due again, so that the caller can print something. */
void wait_line_hide(struct wait_line *w);

/* Leaves errno as it is. */
void wait_line_start(struct wait_line *w, const char *text);
void wait_line_stop(struct wait_line *w);

/* Returns how many columns of the terminal on stderr a line may fill.  The last one stays
 * free, since some terminals wrap after it. */
size_t wait_line_columns(void);
