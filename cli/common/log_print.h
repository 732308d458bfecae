/* log_print -- prints a sandbox's log, while the sandbox lives and after its end. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct err;

#define LOG_PRINT_ALL UINT64_MAX

/* The log to print, and which part of it is wanted. */
struct log_wanted {
	bool of_supervisor; /* the supervisor's own log instead of the processes' output */
	bool follows;	    /* new entries, too, until the sandbox's end */
	bool holds;	    /* with `follows`, of the output: the sandbox's main process
			     * waits while its output is not read */
	uint64_t tail;	    /* how many of the last entries; LOG_PRINT_ALL: all */
};

/* Prints the log of the sandbox NAME: its processes' output on stdout and stderr, as they
 * wrote it; the supervisor's own log on stdout.  On a terminal, control characters are
 * made visible. */
int log_print(const char *name, const struct log_wanted *wanted, struct err *e);
