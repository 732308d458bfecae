/* message -- prints sentences on stderr as bwrap does: "bwrap: SENTENCE". */
#pragma once
#include <stdbool.h>

struct err;

/* Prints the error, and its remedy on a line of its own.  With `has_level` each line
 * begins with the level of syslog(3), as <3>. */
void message_error(const struct err *e, bool has_level);
void message_warning(const char *text, bool has_level);
