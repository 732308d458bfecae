/* attach -- docker run without -d, for a container with a name.
 *
 * hutch lists a sandbox only if it was created, so such a container is created in the
 * background, and its output and its exit code are brought here by two child processes:
 *
 * 	one prints		the container waits for it (docs/control.md, `logs` with
 * 				`hold`), so that a slow reader loses nothing; it dies with
 * 				this process
 * 	one waits for the end	if the caller kills this process, the container runs on, as
 * 				with docker, and the child still removes it, for --rm */
#pragma once
#include <stdbool.h>

struct err;
struct list;

/* Creates the container `name` with these words of hutch, and waits for its end; its
 * output is copied to stdout and stderr.  SIGINT, SIGTERM, SIGHUP and SIGQUIT stop the
 * container, as docker stop does.  `removes`: the record of the container is removed
 * after its end.  Returns the exit code of the container, or of `hutch create` if that
 * failed; or -1. */
int attach_run(const struct list *words, const char *name, bool removes, struct err *e);
