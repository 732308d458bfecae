/* kernel -- system calls by their own names.
 *
 * The mount calls of Linux 5.2 to 5.12 (open_tree(2) and its kin) have no wrapper in
 * musl, and glibc's clashes with the kernel's own header; neither libc has one for
 * openat2 and pivot_root.  Names from kernels newer than the oldest headers that
 * hutch is built with (6.1) stand here too, with the kernel that introduced them;
 * their use is always probed. */
#pragma once
#include <linux/mount.h>
#include <linux/openat2.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define KERNEL_MNT_DETACH 2 /* the flag MNT_DETACH of umount2(2) */

static inline int sys_pidfd_open(int pid, unsigned flags)
{
	return (int)syscall(SYS_pidfd_open, pid, flags);
}

static inline int sys_pidfd_send_signal(int pidfd, int signo)
{
	return (int)syscall(SYS_pidfd_send_signal, pidfd, signo, NULL, 0);
}

static inline int sys_open_tree(int dir, const char *path, unsigned flags)
{
	return (int)syscall(SYS_open_tree, dir, path, flags);
}

static inline int sys_move_mount(int from, const char *from_path, int to,
				 const char *to_path, unsigned flags)
{
	return (int)syscall(SYS_move_mount, from, from_path, to, to_path, flags);
}

static inline int sys_fsopen(const char *type, unsigned flags)
{
	return (int)syscall(SYS_fsopen, type, flags);
}

static inline int sys_fsconfig(int fs, unsigned command, const char *key,
			       const char *value)
{
	return (int)syscall(SYS_fsconfig, fs, command, key, value, 0);
}

static inline int sys_fsmount(int fs, unsigned flags, unsigned attr)
{
	return (int)syscall(SYS_fsmount, fs, flags, attr);
}

static inline int sys_mount_setattr(int dir, const char *path, unsigned flags,
				    struct mount_attr *attr)
{
	return (int)syscall(SYS_mount_setattr, dir, path, flags, attr, sizeof(*attr));
}

static inline int sys_mount(const char *source, const char *target, const char *type,
			    unsigned long flags, const char *options)
{
	return (int)syscall(SYS_mount, source, target, type, flags, options);
}

static inline int sys_umount2(const char *target, int flags)
{
	return (int)syscall(SYS_umount2, target, flags);
}

static inline int sys_pivot_root(const char *root, const char *old)
{
	return (int)syscall(SYS_pivot_root, root, old);
}

static inline int sys_openat2(int dir, const char *path, const struct open_how *how)
{
	return (int)syscall(SYS_openat2, dir, path, how, sizeof(*how));
}

#define KERNEL_RENAME_NOREPLACE 1u /* the flag RENAME_NOREPLACE of renameat2(2), with
				    * the value of <linux/fs.h> */
#define KERNEL_RENAME_EXCHANGE	2u

static inline int sys_renameat2(int from, const char *from_path, int to,
				const char *to_path, unsigned flags)
{
	return (int)syscall(SYS_renameat2, from, from_path, to, to_path, flags);
}

#define KERNEL_RWF_NOWAIT 8 /* the flag RWF_NOWAIT of pwritev2(2) */

/* Writes with pwritev2(2) at the file's current position; where a pipe is full, fails
 * with EAGAIN instead of waiting for its reader. */
static inline ssize_t sys_write_nowait(int fd, const struct iovec *piece)
{
	return syscall(SYS_pwritev2, fd, piece, 1L, -1L, -1L, KERNEL_RWF_NOWAIT);
}

static inline int sys_close_range(unsigned first, unsigned last, unsigned flags)
{
	return (int)syscall(SYS_close_range, first, last, flags);
}

/* The rules of landlock(7) with scopes: struct landlock_ruleset_attr as of ABI 6,
 * kernel 6.12. */
struct landlock_scopes {
	uint64_t handled_access_fs;
	uint64_t handled_access_net;
	uint64_t scoped;
};
#define LANDLOCK_SCOPED_ABSTRACT_SOCKET (1ull << 0)
#define LANDLOCK_SCOPED_SIGNAL		(1ull << 1)

/* The flag MFD_EXEC of memfd_create(2), since kernel 6.3: the file is executable
 * whatever vm.memfd_noexec says. */
#define KERNEL_MFD_EXEC 0x10u

/* The seal F_SEAL_FUTURE_WRITE of fcntl(2), since kernel 5.1. */
#define KERNEL_F_SEAL_FUTURE_WRITE 0x0010

/* The flag STATX_MNT_ID_UNIQUE of statx(2), since kernel 6.8: asks for the number by which
 * statmount(2) knows the mount. */
#define KERNEL_STATX_MNT_ID_UNIQUE 0x4000u

/* struct mnt_id_req of statmount(2), since kernel 6.8, as of its first version. */
struct kernel_mount_request {
	uint32_t size, spare;
	uint64_t id, wanted;
};
#define KERNEL_STATMOUNT_MNT_OPTS  0x80ull  /* since kernel 6.11 */
#define KERNEL_STATMOUNT_SB_SOURCE 0x200ull /* since kernel 6.13 */

#define KERNEL_SYS_STATMOUNT 457 /* its number on all processors */

/* `answer`: struct statmount, with texts behind it. */
static inline int sys_statmount(const struct kernel_mount_request *request, void *answer,
				size_t size)
{
	return (int)syscall(KERNEL_SYS_STATMOUNT, request, answer, size, 0);
}
