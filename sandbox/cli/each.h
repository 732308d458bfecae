/* each -- one request to each of some sandboxes, side by side.
 *
 * They are asked all at once and then waited for one by one, so that stopping ten
 * takes as long as the slowest of them.  As docker does, each name is printed when it
 * is done, an error ends none of the others, and any error makes hutch fail. */
#pragma once
#include <stdbool.h>

struct client;
struct err;
struct reply;

struct each {
	const char *method, *params; /* params NULL: none */
	bool is_the_end; /* of the sandbox: that the connection ends is what was asked */
	void (*tell)(const struct client *c, struct reply answer); /* may be NULL */
};

/* `names` ends with NULL.  The exit code of hutch. */
int each_ask(char *const *names, const struct each *what);

/* Waits until the sandbox NAME that had this id is gone and its name is free. */
void each_settle(const char *name, const char *id);
