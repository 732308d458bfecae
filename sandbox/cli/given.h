/* given -- a descriptor that the caller hands over by its number. */
#pragma once

struct err;

/* `value` of `flag`: a number, of a descriptor that is open.  It stays the caller's until it
 * is used; what it has to be besides is for the flag to check. */
int given_fd(const char *flag, const char *value, int *ret, struct err *e);
