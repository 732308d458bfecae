/* args -- flags of docker, or of another program, become hutch's.
 *
 * A verb has a table with a row for each flag of docker's that it knows.  args_read()
 * walks the words up to the first operand, as docker does for run and exec.  A flag
 * that hutch cannot honour is an error with the row's reason; no flag is ignored. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/list.h"

struct err;

struct args {
	struct list words;   /* owned: flags of hutch */
	struct list volumes; /* owned: the names of the volumes that are to exist */
	struct list hosts;   /* owned: values of --add-host */
	struct list is_on;   /* owned: the names of the switches that are on */
	const char *name;    /* borrowed, as are the others; NULL: not given */
	size_t image_at;     /* for run: where in hutch's words the image stands */
	const char *network, *restart, *stop_signal, *stop_timeout, *format, *filter;
	const char *policy; /* set by the caller: the policy file `docker`, or NULL */
	bool opens_host;    /* set by the caller: that policy opens ports of this host */
	bool lacks_operands; /* reading the words failed for that reason */
	bool is_misread; /* reading them failed: there is no such flag, or a flag has no
			      * value, or a switch a wrong one */
	bool is_detached, removes, is_interactive, has_terminal, has_labels, has_ports;
};

void args_done(struct args *a);

struct arg {
	char letter; /* 0: none */
	const char *name;
	bool has_value;
	const char *to; /* hutch's flag, which gets the same value; NULL: `take` or
			 * nothing */
	/* Takes the value; for a switch NULL.  NULL together with `to` and `refused`:
	 * the flag asks for what is always so, and cannot be turned off. */
	int (*take)(struct args *a, const char *value, struct err *e);
	const char *refused; /* why hutch does not honour the flag */
};

struct arg_table {
	const char *program; /* "docker": `hutch docker` has a page of that name */
	const char *verb;
	const struct arg *rows;
	size_t count;
};

/* Reads the value of a switch as Go's ParseBool() does; NULL is on.  False: it is none. */
bool args_read_switch(const char *value, bool *ret);

/* Whether the first word asks for help, which is then printed: the flags of the table that
 * are not refused. */
bool args_help(char **argv, const struct arg_table *table, const char *operands);

/* Reads flags up to the first operand, to which *argv is moved. */
int args_read(char ***argv, const struct arg_table *table, struct args *a, struct err *e);
/* Reads flags which may stand before and between operands, which are added to `operands`. */
int args_read_all(char **argv, const struct arg_table *table, struct args *a,
		  struct list *operands, struct err *e);
