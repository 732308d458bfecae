/* user_policy -- the policy that the user has for all that another program's words start.
 *
 * It is a file of the user's in hutch's configuration folder, such as docker.json: those
 * words have no room for the rules of hutch. */
#pragma once
#include <stdbool.h>

struct err;

/* Gets the path of the file `name` in the configuration folder, allocated; NULL: there is
 * none.  *ret_opens: the policy opens ports of this host.  A file that is there and cannot
 * be read is an error. */
int user_policy_find(const char *name, char **ret_path, bool *ret_opens, struct err *e);
