/* foreach_sandbox -- sends one request to several sandboxes at the same time.
 *
 * All requests are sent first and the answers then awaited one by one, so
 * stopping ten sandboxes takes as long as the slowest of them.  As in docker,
 * each name is printed when its request is done, an error does not stop the
 * others, and any error makes hutch fail. */
#pragma once
#include <stdbool.h>

struct client;
struct err;
struct json_view;

struct foreach_sandbox {
	const char *method, *params; /* the request that each sandbox gets; params
				      * NULL: none */
	bool is_the_end; /* the request ends the sandbox, so the end of the connection
			  * counts as a success */
	void (*tell)(const struct client *c, struct json_view answer); /* may be NULL */
};

/* Sends the request to each sandbox in `names`, which ends with NULL.  Returns
 * hutch's exit code. */
int foreach_sandbox_ask(char *const *names, const struct foreach_sandbox *what);

/* Waits until the sandbox NAME that had this id is gone and its name is free. */
void foreach_sandbox_settle(const char *name, const char *id);
