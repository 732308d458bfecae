#include "bwrap/steps.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/kernel.h"
#include "base/own.h"
#include "bwrap/args.h"
#include "sandbox/raw/raw_plan.h"

/* The flags that every mount of bwrap has, --dev-bind's excepted. */
#define SAFE (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

struct steps {
	struct raw_plan *plan; /* borrowed */
	struct err *e;	       /* borrowed: why a step cannot be made */
	struct stat root;      /* the host's "/" */
	char cwd[PATH_MAX];    /* relative sources begin here; "": not asked for yet */
	char tty[PATH_MAX];    /* the terminal that stdout is; "": none */
	bool has_own_pids; /* the processes inside have a pid namespace that procfs shows */
	bool has_own_queues; /* ... an ipc namespace */
};

/* Parents of a file that a group or others must not see are closed to them, too. */
static mode_t mode_of_parents(int perms)
{
	mode_t mode = 0755;

	if (perms >= 0 && !(perms & 0070))
		mode &= ~(mode_t)0050;
	if (perms >= 0 && !(perms & 0007))
		mode &= ~(mode_t)0005;
	return mode;
}

static struct raw_step *add(const struct steps *s, enum raw_kind kind,
			    const struct op *op, const char *target)
{
	struct raw_step *step = raw_plan_add(s->plan, kind, target);

	step->from = op->option;
	/* A link that another process has put at a target could lead the source, or the bytes of
	 * --file, to a place of its choice, and could itself be replaced afterwards. */
	step->follows_no_link = kind == RAW_BIND || kind == RAW_MOUNT ||
				kind == RAW_OVERLAY || kind == RAW_DATA ||
				kind == RAW_FILE;
	step->parent_mode = mode_of_parents(op->perms);
	/* Mounts that the host makes later in a shown folder, such as a drive, appear
	 * inside, and none of the inside's appears on the host. */
	step->propagation = MS_SLAVE | MS_REC;
	return step;
}

/* Returns a host path that is absolute, allocated. */
static char *absolute(struct steps *s, const char *path)
{
	if (*path == '/')
		return text_copy(path);
	/* Where the working directory has no path, the relative one still leads on from
	 * it. */
	if (!*s->cwd && !getcwd(s->cwd, sizeof(s->cwd)))
		return text_copy(path);
	return text_format("%s/%s", s->cwd, path);
}

static uint64_t flags_of(const struct op *op)
{
	return MOUNT_ATTR_NOSUID | (op->has_devices ? 0 : MOUNT_ATTR_NODEV) |
	       (op->is_readonly ? MOUNT_ATTR_RDONLY : 0);
}

/* Returns the source, allocated; NULL if there is none, with errno.  Each other path of the
 * host's root becomes "/", which the plan knows: once the new root covers that, a clone
 * by another name would have the new root in it. */
static char *find_source(struct steps *s, const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return NULL;
	if (st.st_dev == s->root.st_dev && st.st_ino == s->root.st_ino)
		return text_copy("/");
	return absolute(s, path);
}

static int cannot_find(const struct op *op, const char *path, struct err *e)
{
	(void)err_sys(e, "Can't find source path %.300s", path);
	return err_from(e, op->option);
}

static int step_bind(struct steps *s, const struct op *op)
{
	AUTO_FREE char *source = find_source(s, op->words[0]);

	if (!source && op->may_be_absent && errno == ENOENT)
		return 0;
	if (!source)
		return cannot_find(op, op->words[0], s->e);
	struct raw_step *step = add(s, RAW_BIND, op, op->target);
	step->source = source;
	source = NULL;
	step->is_tree = true;
	step->may_be_absent = op->may_be_absent;
	step->tree_flags.set = flags_of(op);
	return 0;
}

static int step_bind_fd(struct steps *s, const struct op *op)
{
	struct raw_step *step = add(s, RAW_BIND, op, op->target);

	step->fd = op->fd;
	step->is_tree = true;
	step->tree_flags.set = flags_of(op);
	return 0;
}

static int step_remount(struct steps *s, const struct op *op)
{
	add(s, RAW_REMOUNT, op, op->target)->flags.set = SAFE | MOUNT_ATTR_RDONLY;
	return 0;
}

static int check_folder(const struct op *op, const char *path, struct err *e)
{
	return access(path, F_OK) == 0 ? 0 : cannot_find(op, path, e);
}

/* Adds an overlay, whose layers are the operations before this one, the lowest first.
 * Returns NULL, with s->e set, if one is missing. */
static struct raw_step *add_overlay(struct steps *s, const struct op *op)
{
	struct raw_step *step = add(s, RAW_OVERLAY, op, op->target);

	for (const struct op *src = op - op->sources; src < op; src++) {
		if (check_folder(src, src->target, s->e) < 0)
			return NULL;
		AUTO_FREE char *path = absolute(s, src->target);
		list_add(&step->lowers, path);
	}
	return step;
}

static int step_overlay(struct steps *s, const struct op *op)
{
	if (check_folder(op, op->words[0], s->e) < 0 ||
	    check_folder(op, op->words[1], s->e) < 0)
		return -1;
	struct raw_step *step = add_overlay(s, op);
	if (!step)
		return -1;
	step->upper = absolute(s, op->words[0]);
	step->work = absolute(s, op->words[1]);
	return 0;
}

static int step_tmp_overlay(struct steps *s, const struct op *op)
{
	struct raw_step *step = add_overlay(s, op);

	if (!step)
		return -1;
	step->is_scratch = true;
	return 0;
}

static int step_ro_overlay(struct steps *s, const struct op *op)
{
	return add_overlay(s, op) ? 0 : -1;
}

static struct raw_step *add_mount(const struct steps *s, const struct op *op,
				  const char *target, const char *type)
{
	struct raw_step *step = add(s, RAW_MOUNT, op, target);

	step->type = text_copy(type);
	return step;
}

/* Old files of procfs control the machine, so they are read-only for root, too. */
static int step_proc(struct steps *s, const struct op *op)
{
	static const char *const covered[] = { "sys", "sysrq-trigger", "irq", "bus" };

	if (s->has_own_pids) {
		add_mount(s, op, op->target, "proc")->flags.set = SAFE |
								  MOUNT_ATTR_NOEXEC;
	} else {
		struct raw_step *step = add(s, RAW_BIND, op, op->target);
		step->source = text_copy("/proc");
		step->is_tree = true;
		step->tree_flags.set = SAFE;
	}
	for (size_t i = 0; i < ARRAY_LEN(covered); i++) {
		AUTO_FREE char *target = text_format("%s/%s", op->target, covered[i]);
		struct raw_step *step = add(s, RAW_COVER, op, target);
		step->is_tree = true;
		step->tree_flags.set = SAFE | MOUNT_ATTR_RDONLY;
	}
	return 0;
}

static void add_device(const struct steps *s, const struct op *op, const char *name,
		       const char *source)
{
	AUTO_FREE char *target = text_format("%s/%s", op->target, name);
	struct raw_step *step = add(s, RAW_BIND, op, target);

	step->source = text_copy(source);
	step->tree_flags.set = MOUNT_ATTR_NOSUID; /* one call with its propagation */
}

static void add_links(const struct steps *s, const struct op *op)
{
	static const struct {
		const char *name, *to;
	} links[] = {
		{ "stdin", "/proc/self/fd/0" },	 { "stdout", "/proc/self/fd/1" },
		{ "stderr", "/proc/self/fd/2" }, { "fd", "/proc/self/fd" },
		{ "core", "/proc/kcore" },	 { "ptmx", "pts/ptmx" },
	};

	for (size_t i = 0; i < ARRAY_LEN(links); i++) {
		AUTO_FREE char *target = text_format("%s/%s", op->target, links[i].name);
		add(s, RAW_SYMLINK, op, target)->source = text_copy(links[i].to);
	}
}

static int step_dev(struct steps *s, const struct op *op)
{
	static const char *const devices[] = { "null",	 "zero",    "full",
					       "random", "urandom", "tty" };
	AUTO_FREE char *shm = text_format("%s/shm", op->target);
	AUTO_FREE char *pts = text_format("%s/pts", op->target);
	struct raw_step *step = add_mount(s, op, op->target, "tmpfs");

	step->data = text_copy("mode=0755");
	step->flags.set = SAFE;
	for (size_t i = 0; i < ARRAY_LEN(devices); i++) {
		AUTO_FREE char *source = text_format("/dev/%s", devices[i]);
		add_device(s, op, devices[i], source);
	}
	add_links(s, op);
	add(s, RAW_DIR, op, shm)->mode = 0755;
	step = add_mount(s, op, pts, "devpts");
	step->data = text_copy("newinstance,ptmxmode=0666,mode=620");
	step->flags.set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC;
	/* ttyname(3) inside finds the terminal that stdout is by this name. */
	if (*s->tty)
		add_device(s, op, "console", s->tty);
	return 0;
}

static int step_tmpfs(struct steps *s, const struct op *op)
{
	struct raw_step *step = add_mount(s, op, op->target, "tmpfs");

	step->data =
		op->size ? text_format("mode=0%o,size=%zu", (unsigned)op->perms, op->size)
			 : text_format("mode=0%o", (unsigned)op->perms);
	step->flags.set = SAFE;
	return 0;
}

/* Message queues are mounted for the caller's ipc namespace, over which the user namespace
 * must have CAP_SYS_ADMIN (ipc/mqueue.c). */
static int step_mqueue(struct steps *s, const struct op *op)
{
	struct raw_step *step = add_mount(s, op, op->target, "mqueue");

	if (!s->has_own_queues)
		step->remedy = "add --unshare-ipc, which has queues of its own";
	return 0;
}

static int step_dir(struct steps *s, const struct op *op)
{
	add(s, RAW_DIR, op, op->target)->mode = (mode_t)op->perms;
	return 0;
}

static int step_file(struct steps *s, const struct op *op)
{
	struct raw_step *step = add(s, RAW_FILE, op, op->target);

	step->fd = op->fd;
	step->mode = (mode_t)op->perms;
	return 0;
}

static int step_data(struct steps *s, const struct op *op)
{
	struct raw_step *step = add(s, RAW_DATA, op, op->target);

	step->fd = op->fd;
	step->mode = (mode_t)op->perms;
	step->flags.set = flags_of(op);
	return 0;
}

static int step_symlink(struct steps *s, const struct op *op)
{
	add(s, RAW_SYMLINK, op, op->target)->source = text_copy(op->words[0]);
	return 0;
}

static int step_chmod(struct steps *s, const struct op *op)
{
	add(s, RAW_CHMOD, op, op->target)->mode = (mode_t)op->perms;
	return 0;
}

static int (*const makers[])(struct steps *s, const struct op *op) = {
	[OP_BIND] = step_bind,
	[OP_BIND_FD] = step_bind_fd,
	[OP_REMOUNT_RO] = step_remount,
	[OP_OVERLAY_SRC] = NULL, /* belongs to the overlay behind it */
	[OP_OVERLAY] = step_overlay,
	[OP_TMP_OVERLAY] = step_tmp_overlay,
	[OP_RO_OVERLAY] = step_ro_overlay,
	[OP_PROC] = step_proc,
	[OP_DEV] = step_dev,
	[OP_TMPFS] = step_tmpfs,
	[OP_MQUEUE] = step_mqueue,
	[OP_DIR] = step_dir,
	[OP_FILE] = step_file,
	[OP_DATA] = step_data,
	[OP_SYMLINK] = step_symlink,
	[OP_CHMOD] = step_chmod,
};
_Static_assert(ARRAY_LEN(makers) == OP_KIND_COUNT, "an operation has no step");

/* An empty path would be the root of the sandbox. */
static int check_target(const struct op *op, struct err *e)
{
	return *op->target ? 0 : err_set(e, ERR_USAGE, "%s: DEST is empty", op->option);
}

static int make_step(struct steps *s, const struct op *op, struct err *e)
{
	if (!makers[op->kind])
		return 0;
	return check_target(op, e) < 0 ? -1 : makers[op->kind](s, op);
}

int steps_make(const struct args *a, struct raw_plan *ret, struct err *e)
{
	struct steps s = { .plan = ret,
			   .e = e,
			   .has_own_pids = a->unshare_pid || a->pidns >= 0,
			   .has_own_queues = a->unshare_ipc };

	if (stat("/", &s.root) < 0)
		return err_sys(e, "stat /");
	if (ttyname_r(STDOUT_FILENO, s.tty, sizeof(s.tty)) != 0)
		*s.tty = '\0';
	for (size_t i = 0; i < a->op_count; i++)
		if (make_step(&s, &a->ops[i], e) < 0)
			return -1;
	return 0;
}
