/* sandbox_info -- facts about the sandbox that its actions need. */
#pragma once
#include "actions/observe.h"
#include "protocol/message.h"

struct launch;
struct list;

/* The soft time-out that this environment sets, in seconds. */
double sandbox_info_soft_seconds(const struct list *env);

/* Borrows from the launch. */
struct sandbox_info sandbox_info_of(const struct launch *l);

/* The request that starts a session's shell: a bash that reads nothing of the
 * caller's and starts as an ordinary user's does.  Its argv is still to be set. */
struct exec sandbox_info_shell(const struct launch *l);
