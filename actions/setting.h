/* setting -- facts about the sandbox that its actions need. */
#pragma once
#include "actions/observe.h"
#include "protocol/message.h"

struct launch;
struct list;

/* The soft time-out that this environment sets, in seconds. */
double setting_soft_seconds(const struct list *env);

/* Borrows from the launch. */
struct setting setting_of(const struct launch *l);

/* The request that starts a session's shell: a bash that reads nothing of the
 * caller's and starts as an ordinary user's does; `argv` names it. */
struct exec setting_shell(const struct launch *l, const struct list *argv);
