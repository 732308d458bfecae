/* compile -- makes one BPF program from the floor and a profile.
 *
 * A profile means this.  A rule for a call applies if all its conditions hold; the
 * strictest one that applies decides (in the order kill process, kill thread, trap,
 * errno, log, allow; of two errnos the first in the file).  If no rule applies, or the
 * profile does not name the call, the default action decides.  So the program never
 * allows more than that of libseccomp for the same rules; they differ only where rules
 * contradict each other.
 *
 * A rule for a call that only other architectures have is skipped.  A rule for an
 * unknown name is skipped too, unless it is stricter than the default action: skipping
 * it would silently allow the call, so it is an error. */
#pragma once
#include <stdint.h>

#include "policy/seccomp/floor.h"

struct bpf;
struct err;
struct profile;

/* Must change whenever the same profile compiles to another program: the version is
 * part of the key in the cache of compiled programs. */
#define COMPILE_VERSION "1"

/* Writes the whole program, with the floor, to `b`, which must be empty. */
int compile_profile(const struct profile *p, enum arch arch, struct bpf *b,
		    struct err *e);
