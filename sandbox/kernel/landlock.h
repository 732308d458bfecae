/* landlock -- confines this process with Landlock.  Abstract unix sockets of a
 * shared network get out of reach; files too, but for a few in a process that
 * serves or in a command without namespaces (landlock_run.h), and but for the root in
 * one that has them (landlock_root.h). */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct err;

/* The first ABI in which a file can be moved to another folder (kernel 5.19), and the
 * first with scopes (6.12, landlock(7)). */
#define LANDLOCK_ABI_REFER  2
#define LANDLOCK_ABI_SCOPES 6

/* The kernel's Landlock ABI, 0 where there is none. */
int landlock_abi(void);

/* Confines this process and its children to abstract sockets, and signals, of
 * their own.  Needs no_new_privs and ABI 6. */
int landlock_scope(struct err *e);

/* Rights on files: the kernel's own LANDLOCK_ACCESS_FS_*, some of which older
 * headers lack. */
#define LANDLOCK_EXECUTE     (1ull << 0)
#define LANDLOCK_WRITE_FILE  (1ull << 1)
#define LANDLOCK_READ_FILE   (1ull << 2)
#define LANDLOCK_READ_DIR    (1ull << 3)
#define LANDLOCK_REMOVE_DIR  (1ull << 4)
#define LANDLOCK_REMOVE_FILE (1ull << 5)
#define LANDLOCK_MAKE_DIR    (1ull << 7)
#define LANDLOCK_MAKE_REG    (1ull << 8)
#define LANDLOCK_MAKE_FIFO   (1ull << 10)
#define LANDLOCK_MAKE_SYM    (1ull << 12)
#define LANDLOCK_REFER	     (1ull << 13) /* ABI 2, kernel 5.19 */
#define LANDLOCK_TRUNCATE    (1ull << 14) /* ABI 3, kernel 6.2 */
#define LANDLOCK_IOCTL_DEV   (1ull << 15) /* ABI 5, kernel 6.10 */

/* The rights that a file can have that is no folder, whatever the kernel knows. */
#define LANDLOCK_OF_FILES (LANDLOCK_EXECUTE | LANDLOCK_READ_FILE | LANDLOCK_WRITE_FILE | \
			   LANDLOCK_TRUNCATE | LANDLOCK_IOCTL_DEV)
#define LANDLOCK_ALL	  (~0ull)

/* Rights that are allowed beneath a folder, or with one file; rights that only
 * a folder can have do not count for a file. */
struct landlock_rule {
	int fd; /* borrowed, O_PATH will do; -1: no rule */
	uint64_t allowed;
};

/* The accesses that landlock_confine() leaves open. */
enum landlock_spares {
	LANDLOCK_SPARES_TCP = 1,
	LANDLOCK_SPARES_SIGNALS = 2,  /* signals to processes outside */
	LANDLOCK_SPARES_ABSTRACT = 4, /* connections to abstract sockets outside */
};

/* Confines this process and its children to these rules, to no TCP (ABI 4), and
 * to abstract sockets and signals of their own (ABI 6), as far as the kernel's
 * ABI goes.  They can neither trace nor look into processes outside.  A rule
 * for a file without a path, such as a pipe, is passed over: Landlock does not
 * restrict those.  Needs no_new_privs. */
int landlock_confine(const struct landlock_rule *rules, size_t count, unsigned spares,
		     struct err *e);

/* Confines this process as far as the kernel's ABI goes, to test that: for a
 * process that is about to end.  The errno of a failure is the kernel's: ENOSYS
 * without Landlock, EOPNOTSUPP where it was not enabled at boot.  Needs
 * no_new_privs. */
int landlock_try(struct err *e);
