/* profile -- reads a seccomp profile: OCI's or Docker's JSON.
 *
 * OCI's format is the `seccomp` object of the runtime-spec (config-linux.md,
 * "Seccomp").  Docker and containers-common add archMap, includes, excludes, name,
 * comment, errno and defaultErrno.  A block whose includes and excludes do not match
 * `host` is left out.
 *
 * The reader is strict: an unknown key, action, operator or flag is an error that gives
 * its location, and so is a feature that hutch's filter does not have (SCMP_ACT_NOTIFY,
 * SCMP_ACT_TRACE, SECCOMP_FILTER_FLAG_LOG).  A null value counts as an absent key. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "policy/seccomp/floor.h"

struct err;
struct json;

#define PROFILE_BYTES_MAX (4 << 20)
#define PROFILE_ARGS	  6

/* The machine for which Docker's conditions are evaluated. */
struct profile_host {
	enum arch arch;
	unsigned kernel[2];	 /* the kernel's version, major and minor; { 0, 0 }:
				  * unknown */
	const char *const *caps; /* names of capabilities, CAP_..., ended by NULL; may
				  * be NULL */
	enum floor_kind floor;	 /* the floor that compiled programs get.  With FLOOR_NONE
				  * SCMP_ACT_NOTIFY, SCMP_ACT_TRACE and all flags are
				  * accepted: the caller of the compiler knows them */
};

enum profile_op {
	OP_NE,
	OP_LT,
	OP_LE,
	OP_EQ,
	OP_GE,
	OP_GT,
	OP_MASKED_EQ, /* the test holds if (argument & mask) == value */
	OP_COUNT
};

/* A comparison of a whole 64-bit argument, as an unsigned number. */
struct profile_test {
	unsigned arg;
	enum profile_op op;
	uint64_t value, mask;
};

/* A rule: if all tests hold, the call `name` gets `action`, a return value for a filter
 * (SECCOMP_RET_*, with its errno).  A rule may have no test. */
struct profile_rule {
	const char *name;
	size_t block; /* index of the rule's block in the file's `syscalls` */
	uint32_t action;
	size_t test_count;
	struct profile_test tests[PROFILE_ARGS];
};

struct profile {
	uint32_t default_action;
	struct profile_rule *rules; /* owned; the rules in the order of the file */
	size_t count;
	enum floor_kind floor;
	struct json *doc; /* owned: the parsed file; the names point into it */
};

/* Reads a profile from `len` bytes of JSON.  On failure `ret` is untouched. */
int profile_parse(const char *text, size_t len, const struct profile_host *host,
		  struct profile *ret, struct err *e);

/* Frees everything that a profile owns; the zero object is allowed. */
void profile_done(struct profile *p);
