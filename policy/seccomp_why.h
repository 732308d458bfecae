/* seccomp_why -- what the filter says of one call, and which rule: `hutch why syscall`.
 *
 * The rules are asked as compile.h writes them: the floor, then of the rules of a profile
 * whose conditions hold the strictest.  A test compares with what programs answer. */
#pragma once
#include <stdint.h>

#include "policy/floor.h"

struct answer;
struct err;
struct profile;

#define CALL_ARGS 6

struct call_asked {
	const char *name;
	uint64_t args[CALL_ARGS];
	enum arch arch;
	const struct profile *profile;
	const struct profile *pretend; /* on top of it (seccomp.h); NULL: none */
	const char *line;	       /* the flag that names the profile */
};

/* -1: the name is none, or `ret` is left as it is. */
int seccomp_why(const struct call_asked *c, struct answer *ret, struct err *e);

/* What the call `nr` is called, allocated; NULL: there is none. */
char *seccomp_why_name(enum arch arch, int nr);
