/* landlock -- confines this process with Landlock.
 *
 * The process can no longer reach the host's abstract unix sockets through a network
 * namespace that it shares with the host.  Nor can it reach files, with exceptions: a
 * server, or a command without namespaces (landlock_run.h), keeps access to a few; a
 * sandbox with a root of its own keeps access to that root (landlock_root.h). */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct err;

/* The first ABI in which a file can be moved to another folder (REFER, kernel 5.19),
 * and the first with scopes for signals and abstract sockets (kernel 6.12,
 * landlock(7)). */
#define LANDLOCK_ABI_REFER  2
#define LANDLOCK_ABI_SCOPES 6

/* Returns the kernel's Landlock ABI; 0: the kernel has no Landlock. */
int landlock_abi(void);

/* Confines this process and its children: they can connect to abstract sockets, and
 * send signals, only among themselves.  Needs no_new_privs and ABI 6. */
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
#define LANDLOCK_REFER	     (1ull << 13) /* available since ABI 2, kernel 5.19 */
#define LANDLOCK_TRUNCATE    (1ull << 14) /* available since ABI 3, kernel 6.2 */
#define LANDLOCK_IOCTL_DEV   (1ull << 15) /* available since ABI 5, kernel 6.10 */

/* The rights that apply to a file that is not a folder, in any ABI.  Landlock refuses a
 * rule that gives such a file a right on folders. */
#define LANDLOCK_OF_FILES (LANDLOCK_EXECUTE | LANDLOCK_READ_FILE | LANDLOCK_WRITE_FILE | \
			   LANDLOCK_TRUNCATE | LANDLOCK_IOCTL_DEV)
#define LANDLOCK_ALL	  (~0ull)

/* One rule: the rights that are allowed on a file, or on a folder and everything below
 * it. */
struct landlock_rule {
	int fd; /* borrowed; may be O_PATH; -1: the rule is skipped */
	uint64_t allowed;
};

/* Restrictions that landlock_confine() leaves out. */
enum landlock_spares {
	LANDLOCK_SPARES_TCP = 1,
	LANDLOCK_SPARES_SIGNALS = 2,  /* signals to processes outside of the Landlock
				       * domain */
	LANDLOCK_SPARES_ABSTRACT = 4, /* connections to abstract sockets outside of the
				       * Landlock domain */
};

/* Confines this process and its children.  They can access only the files in the rules,
 * use no TCP (since ABI 4), and connect to abstract sockets and send signals only among
 * themselves (since ABI 6), as far as the kernel's ABI goes; `spares` leaves single
 * restrictions out.  They can neither trace processes outside nor read their memory.  A
 * rule for a file without a path, such as a pipe, is skipped: Landlock does not restrict
 * such files.  Needs no_new_privs. */
int landlock_confine(const struct landlock_rule *rules, size_t count, unsigned spares,
		     struct err *e);

/* Tests whether Landlock works, by confining this process, which is to end soon, as
 * far as the kernel's ABI goes.  The errno of a failure is the kernel's: ENOSYS
 * without Landlock, EOPNOTSUPP where Landlock was not enabled at boot.  Needs
 * no_new_privs. */
int landlock_try(struct err *e);
