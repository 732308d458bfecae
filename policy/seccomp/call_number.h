/* call_number -- the numbers and names of system calls, from libseccomp.  No other
 * module includes libseccomp's header. */
#pragma once
#include "policy/seccomp/floor.h"

/* Reasons why a name has no call number; both are negative, unlike call numbers. */
enum call_lack {
	CALL_UNKNOWN = -1,
	CALL_ELSEWHERE = -2, /* the call exists only on other architectures */
};

/* Returns the number of a call, or a value of enum call_lack. */
int call_number(enum arch arch, const char *name);

/* Returns the name of the call `nr`, allocated; NULL: there is none. */
char *call_number_name(enum arch arch, int nr);
