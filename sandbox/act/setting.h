/* setting -- what actions need to know of the sandbox that they are done in. */
#pragma once
#include "base/message.h"
#include "sandbox/act/observe.h"

struct launch;
struct list;

/* The soft time-out of that environment. */
double setting_soft_seconds(const struct list *env);

/* Borrows from the launch. */
struct setting setting_of(const struct launch *l);

/* How a session's shell is started: a bash that reads nothing of the caller's and
 * starts as people's do; `argv` names it. */
struct exec setting_shell(const struct launch *l, const struct list *argv);
