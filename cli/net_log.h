/* net_log -- what `hutch net NAME log` prints. */
#pragma once
#include <stdbool.h>

struct err;

struct net_log {
	const char *name; /* of the sandbox */
	bool follows, is_json;
};

/* Prints the refused hosts of a sandbox, changes of its rules and, with `follows`, the
 * questions of rules that ask. */
int net_log_print(const struct net_log *log, struct err *e);
