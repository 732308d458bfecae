/* seccomp_why -- finds the filter's answer to one call and the rule that decides it,
 * for `hutch why syscall`.
 *
 * The rules are evaluated as the program of compile.h does: the floor first, then the
 * strictest matching rule of the profile.  A test compares the answers with those of
 * compiled programs. */
#pragma once
#include <stdint.h>

#include "policy/seccomp/floor.h"

struct answer;
struct err;
struct profile;

#define CALL_ARGS 6

struct call_asked {
	const char *name;
	uint64_t args[CALL_ARGS];
	enum arch arch;
	const struct profile *profile;
	const struct profile *pretend; /* a second profile that applies in addition to
					* `profile`; NULL: none */
	const char *line;	       /* the flag that names the profile, for messages */
};

/* Finds the filter's answer to one call.  Returns -1 and leaves `ret` untouched if
 * there is no such call. */
int seccomp_why(const struct call_asked *c, struct answer *ret, struct err *e);
