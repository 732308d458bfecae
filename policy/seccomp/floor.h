/* floor -- the part of the seccomp filter that is the same for all profiles.
 *
 * The floor refuses system calls of another ABI (ia32, x32), the ioctls that insert
 * input into a terminal or reconfigure it, calls by which a command could slow down,
 * limit or migrate pid 1 (which has the same uid as the commands), new namespaces,
 * keyrings, io_uring and native aio, larger pipes, and new seccomp listeners.
 *
 * The floor is a table: a call, the errno, and the arguments with which the call is
 * refused.  Only the low 32 bits of an argument are compared, since the kernel takes
 * these arguments as int or unsigned int and ignores the other bits: a 64-bit
 * comparison would not recognize 0x1'0000'5412 as TIOCSTI (CVE-2019-10063). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/seccomp/bpf.h"

/* The rows of the table that a program has. */
enum floor_kind {
	FLOOR_FULL,
	FLOOR_NESTING, /* those that remain with --nesting: namespaces may be made */
	FLOOR_NONE,    /* no row: the profile is an OCI container's whole filter */
};

enum arch { ARCH_X86_64, ARCH_AARCH64, ARCH_COUNT };

#define FLOOR_TESTS_MAX 4

/* A condition on one argument: it equals `value` or, if `bits` is set, has at least one
 * bit of `value`. */
struct floor_test {
	uint8_t arg;
	bool bits;
	uint32_t value;
};

struct floor_row {
	const char *name; /* libseccomp's name of the call; a test compares it with
			   * `nr` */
	uint32_t nr[ARCH_COUNT];
	bool is_nesting;   /* FLOOR_NESTING lacks this row */
	int answer;	   /* the errno with which a refused call fails */
	size_t test_count; /* number of tests, one of which must hold for a refusal; 0:
			    * the call is always refused */
	struct floor_test tests[FLOOR_TESTS_MAX];
};

/* Returns the floor's table and its length.  A program must call floor_guard() for the
 * call of each row that its kind of floor has. */
const struct floor_row *floor_rows(size_t *ret_count);

/* Tells whether a floor of that kind has the row. */
static inline bool floor_has(enum floor_kind kind, const struct floor_row *row)
{
	return kind == FLOOR_FULL || (kind == FLOOR_NESTING && !row->is_nesting);
}

/* Writes code that refuses the call of `row` if a test of the row holds; other calls
 * continue at `otherwise`. */
struct bpf_target floor_guard(struct bpf *b, const struct floor_row *row,
			      struct bpf_target otherwise);

/* Writes the first instructions, which complete the program.  They refuse a call of
 * another ABI; for all others they load the call's number into A and continue at
 * `dispatch`. */
void floor_enter(struct bpf *b, enum arch arch, size_t dispatch);
