/* compile -- makes one BPF program from the floor and a profile.
 *
 * A profile has this meaning: among the rules for a call whose conditions all hold,
 * the strictest one decides (kill process, kill thread, trap, errno, log, allow; of
 * two errnos the first in the file); where none holds, the default action applies.  A
 * call that the kernel has but the profile does not name gets the default action as
 * well.  So no profile allows more than libseccomp would with the same rules, which
 * differs only where rules contradict each other.
 *
 * A call that only another architecture has is skipped.  An unknown name is skipped
 * too, unless its rule is stricter than the default action: skipping would silently
 * allow the call, so the name is then an error. */
#pragma once
#include <stdint.h>

#include "policy/seccomp/floor.h"

struct bpf;
struct err;
struct profile;

/* The version must change whenever the same profile gives another program: it is part
 * of the key under which finished programs are cached. */
#define COMPILE_VERSION "1"

/* Writes the finished program, floor included.  `b` must be empty. */
int compile_profile(const struct profile *p, enum arch arch, struct bpf *b,
		    struct err *e);
