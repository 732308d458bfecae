/* compile -- makes one BPF program of the floor and a profile.
 *
 * What a profile means: of the rules for a call whose conditions all hold, the
 * strictest is done (kill process, kill thread, trap, errno, log, allow; of two errnos
 * the one that stands first); where none holds, the default action.  A call that the
 * kernel has but the profile does not name gets the default action as well.  So no
 * profile lets more pass than libseccomp would with the same rules, which differs only
 * where rules contradict each other.
 *
 * A name that is a call of another architecture is skipped.  A name that is not known
 * at all is skipped too, unless the rule is stricter than the default action: then the
 * call would pass silently, and it is an error. */
#pragma once
#include <stdint.h>

#include "policy/floor.h"

struct bpf;
struct err;
struct profile;

/* Changes whenever the same profile would give another program: it is part of the
 * key under which finished programs are kept. */
#define COMPILE_VERSION "1"

/* Writes the finished program, floor included.  `b` must be empty. */
int compile_profile(const struct profile *p, enum arch arch, struct bpf *b,
		    struct err *e);
