/* seccomp_why -- the filter's answer to one call, and the rule behind it: `hutch why
 * syscall`.
 *
 * The rules are evaluated as in the program that compile.h writes: the floor first,
 * then the strictest of the profile's rules whose conditions hold.  A test compares
 * the answers with those of compiled programs. */
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
	const struct profile *pretend; /* a profile on top of `profile` (seccomp.h); NULL:
				        * none */
	const char *line;	       /* the flag that names the profile */
};

/* Tells the filter's answer to one call.  -1: there is no such call, and `ret` is
 * untouched. */
int seccomp_why(const struct call_asked *c, struct answer *ret, struct err *e);
