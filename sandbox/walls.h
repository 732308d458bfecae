/* walls -- what stands between a command without namespaces and its user (rung.h); and
 * the one that stands behind namespaces.
 *
 * All of them stand, always.  Each is asked for by name so that a test can be linked with
 * another walls.c (tests/walls.c), in which one is left out, and see what notices. */
#pragma once
#include <stdbool.h>

enum wall {
	WALL_FILES,	  /* Landlock: what may be opened */
	WALL_SECCOMP,	  /* the filters */
	WALL_LIMITS,	  /* resource limits */
	WALL_PRIVILEGES,  /* no_new_privs, which the two above need */
	WALL_DESCRIPTORS, /* what is open beside the standard three is closed */
	WALL_ENVIRONMENT, /* it is made anew */
	WALL_KEEPER,	  /* what is left of the command is ended */
	WALL_ROOT,	  /* in namespaces, Landlock: nothing but the root (fence.h) */
	WALL_COUNT
};

bool wall_stands(enum wall wall);
