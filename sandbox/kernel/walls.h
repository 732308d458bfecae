/* walls -- the walls between a command without namespaces and its user
 * (landlock_run.h), and the one that stands behind namespaces.
 *
 * All of them stand, always.  The code asks for each by name so that a test can
 * be linked with another walls.c (tests/walls.c) that leaves one out, and see
 * which check notices. */
#pragma once
#include <stdbool.h>

enum wall {
	WALL_FILES,	  /* Landlock: which files may be opened */
	WALL_SECCOMP,	  /* the filters */
	WALL_LIMITS,	  /* resource limits */
	WALL_PRIVILEGES,  /* no_new_privs, which the two above need */
	WALL_DESCRIPTORS, /* all descriptors but the standard three are closed */
	WALL_ENVIRONMENT, /* the environment is made anew */
	WALL_SUBREAPER,	  /* remaining processes of the command are ended */
	WALL_ROOT,	  /* in namespaces, Landlock: no file outside of the root
			   * (landlock_root.h) */
	WALL_COUNT
};

bool wall_stands(enum wall wall);
