/* call_number -- the numbers and names of system calls, by libseccomp: no other file
 * includes its header. */
#pragma once
#include "policy/seccomp/floor.h"

/* Reasons why a call has no number here; both are negative, as no number is. */
enum call_lack {
	CALL_UNKNOWN = -1,
	CALL_ELSEWHERE = -2, /* only another architecture has this call */
};

/* Returns the number of a call, or an enum call_lack. */
int call_number(enum arch arch, const char *name);

/* Returns the name of the call `nr`, allocated; NULL: there is none. */
char *call_number_name(enum arch arch, int nr);
