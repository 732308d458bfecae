#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/kernel.h"
#include "base/mem.h"
#include "base/own.h"
#include "sandbox/kernel/seccomp.h"
#include "sandbox/monitor/broker.h"
#include "sandbox/monitor/broker_parts.h"

#ifdef __aarch64__
#define OUR_ARCH AUDIT_ARCH_AARCH64
#else
#define OUR_ARCH AUDIT_ARCH_X86_64
#endif

/* btrfs(5): the ioctls that make a subvolume, or a snapshot of one, under a
 * name. */
#define BTRFS_SNAP_CREATE      0x50009401
#define BTRFS_SUBVOL_CREATE    0x5000940e
#define BTRFS_SNAP_CREATE_V2   0x50009417
#define BTRFS_SUBVOL_CREATE_V2 0x50009418

#define HERE (-1) /* a path that is relative to the working directory */
#define NONE (-2) /* the call has no such path, or the path is not looked up */

enum kind { OPEN, FOLDER, NODE, SYMLINK, LINK, RENAME, BIND };

/* The calls that make names, with the numbers of their arguments.  open(2) is
 * reported only if its flags ask for a new file. */
static const struct made_call {
	int nr;
	uint8_t kind;
	int8_t dir, path;	/* numbers of the arguments for the new name */
	int8_t from_dir, from;	/* numbers of the arguments for the file that is linked
				 * or renamed to the new name */
	int8_t flags, mode;
} calls[] = {
	{ SYS_openat, OPEN, 0, 1, NONE, NONE, 2, 3 },
	{ SYS_mkdirat, FOLDER, 0, 1, NONE, NONE, NONE, 2 },
	{ SYS_mknodat, NODE, 0, 1, NONE, NONE, 3, 2 },
	{ SYS_symlinkat, SYMLINK, 1, 2, NONE, 0, NONE, NONE },
	{ SYS_linkat, LINK, 2, 3, 0, 1, 4, NONE },
	{ SYS_renameat2, RENAME, 2, 3, 0, 1, 4, NONE },
	{ SYS_renameat, RENAME, 2, 3, 0, 1, NONE, NONE },
	{ SYS_bind, BIND, NONE, NONE, NONE, NONE, NONE, NONE },
#ifdef __x86_64__ /* only x86-64 still has these calls from before Linux 2.6.16 */
	{ SYS_open, OPEN, HERE, 0, NONE, NONE, 1, 2 },
	{ SYS_creat, OPEN, HERE, 0, NONE, NONE, NONE, 1 },
	{ SYS_mkdir, FOLDER, HERE, 0, NONE, NONE, NONE, 1 },
	{ SYS_mknod, NODE, HERE, 0, NONE, NONE, 2, 1 },
	{ SYS_symlink, SYMLINK, HERE, 1, NONE, 0, NONE, NONE },
	{ SYS_link, LINK, HERE, 1, HERE, 0, NONE, NONE },
	{ SYS_rename, RENAME, HERE, 1, HERE, 0, NONE, NONE },
#endif
};

/* Calls that could create names without the broker, and so are refused; ioctl(2) is
 * refused only with the given command. */
static const struct way_around {
	int nr;
	uint32_t command; /* the command of ioctl(2); 0: the call is refused with any
			   * arguments */
	int error;
} ways_around[] = {
	/* The flags of openat2(2) are in memory, where no filter can see them.
	 * Programs can handle ENOSYS, since older kernels lack this call. */
	{ SYS_openat2, 0, ENOSYS }, /* layer: broker-openat2 */
	{ SYS_io_uring_setup, 0, EPERM },
	{ SYS_chroot, 0, EPERM },
	{ SYS_landlock_create_ruleset, 0, EOPNOTSUPP },
	{ SYS_ioctl, BTRFS_SNAP_CREATE, EPERM },
	{ SYS_ioctl, BTRFS_SUBVOL_CREATE, EPERM },
	{ SYS_ioctl, BTRFS_SNAP_CREATE_V2, EPERM },
	{ SYS_ioctl, BTRFS_SUBVOL_CREATE_V2, EPERM },
};

/* --- the filter ----------------------------------------------------------------------- */

static const struct made_call *find_call(const struct seccomp_data *data)
{
	for (size_t i = 0; data->arch == OUR_ARCH && i < ARRAY_LEN(calls); i++)
		if (calls[i].nr == data->nr)
			return &calls[i];
	return NULL;
}

static bool may_make(const struct made_call *c, const struct seccomp_data *data)
{
	const uint64_t flags = c->flags == NONE ? 0 : data->args[c->flags];

	/* open(2) with O_PATH makes no file, even with O_CREAT. */
	return c->kind != OPEN || c->flags == NONE ||
	       (flags & (O_CREAT | O_PATH)) == O_CREAT;
}

bool broker_takes(const struct seccomp_data *data)
{
	const struct made_call *c = find_call(data);

	return c && may_make(c, data);
}

/* BPF instructions that load 32-bit words of a struct seccomp_data.  The low word of
 * an argument comes first, since both architectures are little-endian. */
#define LOAD(at) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(at))
#define LOAD_NR	 LOAD(offsetof(struct seccomp_data, nr))
#define LOAD_ARG(n) LOAD(offsetof(struct seccomp_data, args) + 8 * (size_t)(n))
#define IS(k, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(k), yes, no)
#define HAS(k, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (uint32_t)(k), yes, no)
#define RETURN(k) BPF_STMT(BPF_RET | BPF_K, (uint32_t)(k))

/* Writes the BPF instructions that send one call to the listener.  The number of the
 * call is in the accumulator before these instructions, and again after them. */
static size_t tell_row(const struct made_call *c, struct sock_filter *to)
{
	const bool always_notifies = c->kind != OPEN || c->flags == NONE;
	const struct sock_filter always[] = { IS(c->nr, 0, 1),
					      RETURN(SECCOMP_RET_USER_NOTIF) };
	const struct sock_filter some[] = {
		IS(c->nr, 0, 5),
		LOAD_ARG(always_notifies ? 0 : c->flags),
		HAS(O_PATH, 2, 0),
		HAS(O_CREAT, 0, 1),
		RETURN(SECCOMP_RET_USER_NOTIF),
		LOAD_NR,
	};

	memcpy(to, always_notifies ? always : some,
	       always_notifies ? sizeof(always) : sizeof(some));
	return always_notifies ? ARRAY_LEN(always) : ARRAY_LEN(some);
}

static size_t refuse_row(const struct way_around *w, struct sock_filter *to)
{
	const uint32_t refused = SECCOMP_RET_ERRNO | (uint32_t)w->error;
	const struct sock_filter any[] = { IS(w->nr, 0, 1), RETURN(refused) };
	const struct sock_filter some[] = {
		IS(w->nr, 0, 4), LOAD_ARG(1), IS(w->command, 0, 1),
		RETURN(refused), LOAD_NR,
	};

	memcpy(to, w->command ? some : any, w->command ? sizeof(some) : sizeof(any));
	return w->command ? ARRAY_LEN(some) : ARRAY_LEN(any);
}

void broker_program(const struct seccomp_program *program, struct seccomp_program *ret)
{
	enum {
		ROW = 6,
		HEAD = 4,
		MOST = HEAD + ROW * (ARRAY_LEN(calls) + ARRAY_LEN(ways_around))
	};
	struct sock_filter *insns = mem_zeroed(MOST + program->count, sizeof(*insns));
	const struct sock_filter head[] = {
		LOAD(offsetof(struct seccomp_data, arch)),
		IS(OUR_ARCH, 1, 0),
		BPF_STMT(BPF_JMP | BPF_JA, 0), /* jumps over the instructions of all
						* calls; insns[2].k gets their number
						* below */
		LOAD_NR,
	};
	size_t count = ARRAY_LEN(head);

	_Static_assert(ARRAY_LEN(head) == HEAD, "the head has no room");
	memcpy(insns, head, sizeof(head));
	for (size_t i = 0; i < ARRAY_LEN(ways_around); i++)
		count += refuse_row(&ways_around[i], insns + count);
	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		count += tell_row(&calls[i], insns + count);
	insns[2].k = (uint32_t)(count - 3);
	memcpy(insns + count, program->insns, program->count * sizeof(*insns));
	*ret = (struct seccomp_program){ .insns = insns, .count = count + program->count,
					 .owned = insns };
}

/* --- what is made --------------------------------------------------------------------- */

/* The places that one call names: the new name and, for a link or a rename,
 * the old one. */
struct places {
	struct spot to, from;
};

static int make_folder(const struct job *j, const struct spot *s, mode_t mode)
{
	if (!*s->name)
		return -EEXIST;
	const int refused = spot_allows(j, s, MAKING_FOLDER);
	if (refused)
		return refused;
	return mkdirat(s->dir, s->name, mode) < 0 ? -errno : 0;
}

static int make_node(const struct job *j, const struct spot *s, mode_t mode, dev_t dev)
{
	if (!*s->name)
		return -EEXIST;
	const int refused = spot_allows(j, s, MAKING_FILE);
	if (refused)
		return refused;
	return mknodat(s->dir, s->name, mode, dev) < 0 ? -errno : 0;
}

static int make_symlink(const struct job *j, const struct spot *s, const char *text)
{
	if (!*s->name)
		return -EEXIST;
	const int refused = spot_allows(j, s, MAKING_FILE);
	if (refused)
		return refused;
	return symlinkat(text, s->dir, s->name) < 0 ? -errno : 0;
}

/* Links a file that a link of procfs leads to, such as an O_TMPFILE file by its
 * /proc/self/fd/N: opens the file here and links it by that descriptor (open(2),
 * O_TMPFILE). */
static int link_magic(const struct job *j, const struct spot *from, const struct spot *to)
{
	AUTO_CLOSE int fd = openat(from->dir, from->name, O_PATH | O_CLOEXEC);
	char own[OWN_PATH_MAX];

	if (fd < 0)
		return -errno;
	own_path(fd, own);
	return linkat(j->work->proc, own, to->dir, to->name, AT_SYMLINK_FOLLOW) < 0
		       ? -errno
		       : 0;
}

static bool is_link(const struct spot *s)
{
	struct stat st;

	return *s->name && !s->is_magic && !strchr(s->name, '/') &&
	       fstatat(s->dir, s->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISLNK(st.st_mode);
}

static int make_link(struct job *j, struct places *p, uint64_t flags)
{
	int error = 0;

	if (flags & ~(uint64_t)AT_SYMLINK_FOLLOW)
		return flags & ~(uint64_t)(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH) ? -EINVAL
									      : -ENOENT;
	while (!error && flags && is_link(&p->from))
		error = spot_follow(&j->path_walk, &p->from);
	if (error)
		return error;
	if (!*p->to.name || !*p->from.name)
		/* A path without a last name, such as "/", names a folder, which
		 * exists. */
		return !*p->to.name ? -EEXIST : -EPERM;
	if ((error = spot_allows(j, &p->to, MAKING_FILE)))
		return error;
	if (p->from.is_magic)
		return link_magic(j, &p->from, &p->to);
	return linkat(p->from.dir, p->from.name, p->to.dir, p->to.name, 0) < 0 ? -errno
									       : 0;
}

static enum making as_made(const struct spot *s)
{
	struct stat st;
	bool is_file = fstatat(s->dir, s->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		       !S_ISDIR(st.st_mode);

	return is_file ? MAKING_FILE : MAKING_TREE;
}

static int make_rename(const struct job *j, const struct places *p, unsigned flags)
{
	int error;

	if (!*p->to.name || !*p->from.name)
		return -EBUSY;
	if ((error = spot_allows(j, &p->to, as_made(&p->from))))
		return error;
	if ((flags & KERNEL_RENAME_EXCHANGE) &&
	    (error = spot_allows(j, &p->from, as_made(&p->to))))
		return error;
	return sys_renameat2(p->from.dir, p->from.name, p->to.dir, p->to.name, flags) < 0
		       ? -errno
		       : 0;
}

/* --- one call ------------------------------------------------------------------------- */

static uint64_t arg(const struct job *j, int number)
{
	return number < 0 ? 0 : j->target.call->data.args[number];
}

/* Opens the folder that a relative path begins in; *ret_base is -1 for an absolute
 * path. */
static int begin(const struct job *j, int dir, const char *path, int *ret_base)
{
	const int base = *path == '/'
				 ? -1
				 : job_base(j, dir == HERE ? AT_FDCWD : (int)arg(j, dir));

	*ret_base = base;
	return *path == '/' || base >= 0 ? 0 : base;
}

static int find_spot(struct job *j, int dir, const char *path, struct spot *ret)
{
	AUTO_CLOSE int base = -1;
	const int error = begin(j, dir, path, &base);

	return error ? error : spot_find(&j->path_walk, base, path, ret);
}

static int open_call(struct job *j, const struct made_call *c, const char *path)
{
	const int wants = c->flags == NONE ? O_CREAT | O_WRONLY | O_TRUNC
					   : (int)arg(j, c->flags);
	AUTO_CLOSE int base = -1;
	const int error = begin(j, c->dir, path, &base);

	if (error)
		return error;
	return job_open(j, base, path, wants, (mode_t)arg(j, c->mode));
}

static int make(struct job *j, const struct made_call *c, struct places *p,
		const char *text)
{
	const mode_t mode = (mode_t)arg(j, c->mode);

	switch ((enum kind)c->kind) {
	case FOLDER:
		return make_folder(j, &p->to, mode);
	case NODE:
		return make_node(j, &p->to, mode, (dev_t)arg(j, c->flags));
	case SYMLINK:
		return make_symlink(j, &p->to, text);
	case LINK:
		return make_link(j, p, arg(j, c->flags));
	case RENAME:
		return make_rename(j, p, (unsigned)arg(j, c->flags));
	case OPEN:
	case BIND:
		break;
	}
	return -ENOSYS; /* not reached: do_call() makes these calls itself */
}

static int make_call(struct job *j, const struct made_call *c, const char *path)
{
	struct places p = { .to.dir = -1, .from.dir = -1 };
	char from[NOTIFY_TARGET_PATH_MAX] = "";
	int error = c->from == NONE ? 0 : job_read_path(j, arg(j, c->from), from);

	if (!error && c->from_dir != NONE)
		error = find_spot(j, c->from_dir, from, &p.from);
	if (!error)
		error = find_spot(j, c->dir, path, &p.to);
	if (!error)
		error = make(j, c, &p, from);
	spot_done(&p.from);
	spot_done(&p.to);
	return error;
}

static int do_call(struct job *j, const struct made_call *c)
{
	char path[NOTIFY_TARGET_PATH_MAX];
	int error = job_begin(j);

	(void)umask(j->umask); /* layer: caller-umask */
	if (!error && c->kind == BIND)
		return job_bind(j, (int)arg(j, 0), arg(j, 1), arg(j, 2));
	if (!error)
		error = job_read_path(j, arg(j, c->path), path);
	if (error)
		return error;
	return c->kind == OPEN ? open_call(j, c, path) : make_call(j, c, path);
}

static void answer(const struct job *j, int error, int value)
{
	struct seccomp_notif_resp resp = { .id = j->target.call->id, .error = error,
					   .val = value };

	(void)ioctl(j->target.listener, SECCOMP_IOCTL_NOTIF_SEND,
		    &resp); /* the ioctl fails if the caller is gone, which then needs
			     * no answer */
}

void job_answer(const struct job *j, int error)
{
	answer(j, error, 0);
}

/* Closes the broker's copy before the caller goes on: the caller may close its
 * descriptor at once, and a copy would keep the file busy (ETXTBSY), locked
 * (flock(2)), or a FIFO open. */
void job_hand_over(const struct job *j, int fd, bool is_cloexec)
{
	struct seccomp_notif_addfd add = { .id = j->target.call->id,
					   .srcfd = (uint32_t)fd,
					   .newfd_flags = is_cloexec ? O_CLOEXEC : 0 };
	const int number = ioctl(j->target.listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);
	const int error = number < 0 ? -errno : 0; /* the ioctl fails if the caller's
						    * descriptor table is full (EMFILE)
						    * or the caller is gone */

	(void)close(fd);
	answer(j, error, number < 0 ? 0 : number);
}

void broker_do(struct broker_work *w, const struct seccomp_notif *call)
{
	struct job j = { .work = w,
			 .target = { w->listener, call },
			 .path_walk = { .read_link = job_read_link, .context = &j } };
	const struct made_call *c = find_call(&call->data);
	const int result = c ? do_call(&j, c) : -ENOSYS;

	if (result != JOB_ANSWERED)
		job_answer(&j, result);
}
