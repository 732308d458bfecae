/* floor -- the part of the seccomp filter that no profile replaces.
 *
 * Whatever the profile, the floor refuses system calls of a foreign ABI (ia32, x32),
 * the ioctls that type into or reconfigure a terminal, calls by which a command could
 * slow, limit or move pid 1 (which shares the commands' uid), new namespaces, keys,
 * io_uring and native aio, the enlarging of pipes, new seccomp listeners.
 *
 * The floor is a table: a call, the answer, and the arguments for which the call gets
 * that answer.  Arguments are compared by their low 32 bits, since the kernel takes
 * these as int or unsigned int and ignores the rest: a 64-bit comparison lets
 * 0x1'0000'5412 pass as something other than TIOCSTI (CVE-2019-10063). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/seccomp/bpf.h"

enum arch { ARCH_X86_64, ARCH_AARCH64, ARCH_COUNT };

#define FLOOR_TESTS_MAX 4

/* A condition on one argument: it equals `value` or, with `bits`, has any bit of
 * `value`. */
struct floor_test {
	uint8_t arg;
	bool bits;
	uint32_t value;
};

struct floor_row {
	const char *name; /* libseccomp's name of the call; the tests compare */
	uint32_t nr[ARCH_COUNT];
	int answer;	   /* the errno with which a refused call fails */
	size_t test_count; /* number of tests; 0: the call is always refused; else if
			    * any test holds */
	struct floor_test tests[FLOOR_TESTS_MAX];
};

/* Returns the whole table of the floor and its length.  A program must guard the calls
 * of all rows. */
const struct floor_row *floor_rows(size_t *ret_count);

/* Writes the decision about the call of `row`: its refusal, else `otherwise`. */
struct bpf_target floor_guard(struct bpf *b, const struct floor_row *row,
			      struct bpf_target otherwise);

/* Writes the beginning of the program, which every call reaches first: a foreign ABI
 * is refused; otherwise A is the call's number, and the program continues at
 * `dispatch`.  The program is then complete. */
void floor_enter(struct bpf *b, enum arch arch, size_t dispatch);
