/* why -- answers from a sandbox's plan whether a command may read, write, execute or
 * connect, and which option decides that: docs/hutch-why.md. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct answer;
struct lookup;
struct plan;
struct policy;

/* A sandbox that lives. */
struct why_live {
	const char *name;
	const uint16_t
		*ports; /* at which it has listeners; rules can be about no others */
	size_t port_count;
	bool has_all_ports; /* it has listeners at each port */
};

/* The sandbox that a question is about.  All members are borrowed; `plan` must be the
 * plan of `policy`. */
struct why {
	const struct policy *policy;
	const struct plan *plan;
	const struct lookup *lookup;
	/* NULL: the question is about a launch.  Else `policy` has the network of this
	 * sandbox and its rules in force, `plan` and `lookup` are NULL, and only
	 * why_connect() with "HOST:PORT" can be asked. */
	const struct why_live *live;
};

/* Tell whether the command may read or write the file at `path`, which is a
 * path inside; a relative path begins at the working directory. */
void why_read(const struct why *w, const char *path, struct answer *ret);
void why_write(const struct why *w, const char *path, struct answer *ret);

/* Tells whether a command can be run.  A name without a "/" is looked for on
 * the PATH inside, as a shell does. */
void why_exec(const struct why *w, const char *command, struct answer *ret);

/* Tells whether the command may connect.  `where` is "HOST:PORT", "unix:PATH"
 * or "unix:@NAME"; returns -1 if `where` has none of these forms. */
int why_connect(const struct why *w, const char *where, struct answer *ret);

/* Returns the host in what a user has written instead of HOST:PORT, such as
 * https://HOST/path or HOST, allocated. */
char *why_host(const char *where);

/* Says which part of the plan refused an action on `path` that failed with the errno
 * `sys`.  A process inside has chosen the path, so no file of the host is looked at,
 * and w->lookup is not used.  Returns false if the plan does not explain the refusal. */
bool why_refused(const struct why *w, const char *path, int sys, struct answer *ret);
