/* sandbox_info -- facts about the sandbox that its dispatcher needs. */
#pragma once
#include "actions/observe.h"
#include "protocol/message.h"

struct launch;
struct list;

/* Returns the soft time-out of commands in this environment, in seconds. */
double sandbox_info_soft_seconds(const struct list *env);

/* Collects the facts; the texts in the result are borrowed from the launch. */
struct sandbox_info sandbox_info_of(const struct launch *l);

/* Returns the request that starts a session's shell, a bash with a terminal. The caller
 * still has to set its argv. */
struct exec sandbox_info_shell(const struct launch *l);
