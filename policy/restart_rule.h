/* restart_rule -- when a sandbox's main process is started again after its end, as
 * `--restart` says it. */
#pragma once
#include <stdint.h>

struct err;

enum restart_when {
	RESTART_NO, /* its end is the sandbox's end */
	RESTART_ON_FAILURE,
	RESTART_ALWAYS,
	RESTART_UNLESS_STOPPED, /* the same as always: there is no daemon that would
				 * start anything again after a stop or a reboot */
	RESTART_WHEN_COUNT
};

struct restart_rule {
	enum restart_when when;
	uint32_t most; /* with RESTART_ON_FAILURE: the most restarts; 0: no bound */
};

/* Parses no, on-failure, on-failure:N, always or unless-stopped. */
int restart_rule_parse(const char *word, struct restart_rule *ret, struct err *e);

/* Returns the rule as it is written, allocated. */
char *restart_rule_print(const struct restart_rule *r);
