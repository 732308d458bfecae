/* hooks -- programs of the engine's that run at points of a container's life
 * (runtime-spec, config.md, "POSIX-platform Hooks"). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

struct err;
struct json_at;

enum hook_point {
	HOOK_PRESTART,
	HOOK_CREATE_RUNTIME,
	HOOK_CREATE_CONTAINER,
	HOOK_START_CONTAINER,
	HOOK_POSTSTART,
	HOOK_POSTSTOP,
	HOOK_POINT_COUNT
};

struct hook {
	const char *path;
	struct list args, env; /* owned */
	bool has_env;	  /* env is the whole environment; else that of this process, or for
			   * HOOK_START_CONTAINER an empty one */
	uint32_t timeout; /* in seconds; 0: none */
};

struct hooks {
	struct hook *points[HOOK_POINT_COUNT]; /* owned */
	size_t counts[HOOK_POINT_COUNT];
	bool may_fail_late; /* a failed poststart hook is a warning, as it was before version
			     * 1.3 of the specification */
};

int hooks_read(const struct json_at *config, struct hooks *ret, struct err *e);
void hooks_done(struct hooks *h);

/* Returns the name of a point, as config.json has it. */
const char *hooks_name(enum hook_point point);

/* Runs the hooks of a point in their order, each with `state`, a container's state as
 * JSON, on its stdin.  The first hook that fails or exceeds its time ends the run, and is
 * the error; the others run nevertheless after a container's end, and at
 * HOOK_POSTSTART with `may_fail_late`. */
int hooks_run(const struct hooks *h, enum hook_point point, const char *state,
	      struct err *e);
