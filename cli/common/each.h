/* each -- sends one request to several sandboxes at the same time.
 *
 * All requests are sent first and the answers then awaited one by one, so
 * stopping ten sandboxes takes as long as the slowest of them.  As in docker,
 * each name is printed when its request is done, an error does not stop the
 * others, and any error makes hutch fail. */
#pragma once
#include <stdbool.h>

struct client;
struct err;
struct reply;

struct each {
	const char *method, *params; /* params NULL: none */
	bool is_the_end; /* the request ends the sandbox, so the end of the connection
			  * is a success */
	void (*tell)(const struct client *c, struct reply answer); /* may be NULL */
};

/* `names` ends with NULL.  Returns hutch's exit code. */
int each_ask(char *const *names, const struct each *what);

/* Waits until the sandbox NAME that had this id is gone and its name is free. */
void each_settle(const char *name, const char *id);
