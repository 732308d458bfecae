/* signal_name -- the numbers of signals that clients and images name. */
#pragma once

/* Returns the number of a signal such as "TERM" or "SIGTERM"; 0: there is none of that
 * name. */
int signal_name_find(const char *name);

/* Reads the StopSignal of an image, or the value of --stop-signal: a name, also SIGRTMIN+N, or a number from 1 to 64.
 * Returns 0 if it is none. */
int signal_name_parse(const char *text);
