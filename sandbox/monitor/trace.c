#include "sandbox/monitor/trace.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/own.h"
#include "sandbox/kernel/notify_target.h"
#include "sandbox/kernel/seccomp.h"

#ifdef __aarch64__
#define OUR_ARCH AUDIT_ARCH_AARCH64
#else
#define OUR_ARCH AUDIT_ARCH_X86_64
#endif

/* The number of fchmodat2(2), which the headers of some C libraries lack; it
 * is the same on all architectures. */
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

/* The kinds of calls, by the meaning of their other arguments. */
enum shape {
	PLAIN,
	OPEN,	  /* `flags` is the number of the argument with open(2)'s flags */
	OPEN_HOW, /* `flags` is the number of the argument that points to a struct
		   * open_how */
	ADDRESS	  /* no path: argument `path` is a struct sockaddr, `flags` its length */
};

#define HERE (-1) /* a path that is relative to the working directory */

#define LOOK	TRACE_SET_LOOK
#define READ	TRACE_SET_READ
#define WRITE	TRACE_SET_WRITE
#define CREATE	TRACE_SET_CREATE
#define PLACE	TRACE_SET_PLACE
#define REMOVE	TRACE_SET_REMOVE
#define EXECUTE TRACE_SET_EXECUTE

/* The calls that are noted down.  A call with two paths has two rows.  A call
 * that is in no row is not noted down. */
static const struct traced_call {
	int nr;
	int8_t dir, path; /* the numbers of the arguments for the folder and the path */
	uint8_t use;
	uint8_t shape;
	int8_t flags;
} calls[] = {
	{ SYS_openat, 0, 1, 0, OPEN, 2 },
	{ SYS_openat2, 0, 1, 0, OPEN_HOW, 2 },
	{ SYS_newfstatat, 0, 1, LOOK, PLAIN, 0 },
	{ SYS_statx, 0, 1, LOOK, PLAIN, 0 },
	{ SYS_statfs, HERE, 0, LOOK, PLAIN, 0 },
	{ SYS_faccessat, 0, 1, LOOK, PLAIN, 0 },
	{ SYS_faccessat2, 0, 1, LOOK, PLAIN, 0 },
	{ SYS_readlinkat, 0, 1, LOOK, PLAIN, 0 },
	{ SYS_chdir, HERE, 0, LOOK, PLAIN, 0 },
	{ SYS_execve, HERE, 0, READ | EXECUTE, PLAIN, 0 },
	{ SYS_execveat, 0, 1, READ | EXECUTE, PLAIN, 0 },
	{ SYS_truncate, HERE, 0, WRITE, PLAIN, 0 },
	{ SYS_fchmodat, 0, 1, WRITE, PLAIN, 0 },
	{ SYS_fchmodat2, 0, 1, WRITE, PLAIN, 0 },
	{ SYS_fchownat, 0, 1, WRITE, PLAIN, 0 },
	{ SYS_utimensat, 0, 1, WRITE, PLAIN, 0 },
	{ SYS_mkdirat, 0, 1, LOOK | CREATE, PLAIN, 0 },
	{ SYS_mknodat, 0, 1, LOOK | CREATE, PLAIN, 0 },
	{ SYS_unlinkat, 0, 1, REMOVE, PLAIN, 0 },
	{ SYS_renameat, 0, 1, REMOVE, PLAIN, 0 },
	{ SYS_renameat, 2, 3, PLACE, PLAIN, 0 },
	{ SYS_renameat2, 0, 1, REMOVE, PLAIN, 0 },
	{ SYS_renameat2, 2, 3, PLACE, PLAIN, 0 },
	{ SYS_linkat, 0, 1, READ, PLAIN, 0 },
	{ SYS_linkat, 2, 3, PLACE, PLAIN, 0 },
	{ SYS_symlinkat, 1, 2, PLACE, PLAIN, 0 },
	{ SYS_connect, HERE, 1, 0, ADDRESS, 2 },
	{ SYS_sendto, HERE, 4, 0, ADDRESS, 5 },
#ifdef __x86_64__ /* only x86-64 still has these calls from before Linux 2.6.16 */
	{ SYS_open, HERE, 0, 0, OPEN, 1 },
	{ SYS_creat, HERE, 0, WRITE | CREATE, PLAIN, 0 },
	{ SYS_stat, HERE, 0, LOOK, PLAIN, 0 },
	{ SYS_lstat, HERE, 0, LOOK, PLAIN, 0 },
	{ SYS_access, HERE, 0, LOOK, PLAIN, 0 },
	{ SYS_readlink, HERE, 0, LOOK, PLAIN, 0 },
	{ SYS_chmod, HERE, 0, WRITE, PLAIN, 0 },
	{ SYS_chown, HERE, 0, WRITE, PLAIN, 0 },
	{ SYS_lchown, HERE, 0, WRITE, PLAIN, 0 },
	{ SYS_utime, HERE, 0, WRITE, PLAIN, 0 },
	{ SYS_utimes, HERE, 0, WRITE, PLAIN, 0 },
	{ SYS_futimesat, 0, 1, WRITE, PLAIN, 0 },
	{ SYS_mkdir, HERE, 0, LOOK | CREATE, PLAIN, 0 },
	{ SYS_mknod, HERE, 0, LOOK | CREATE, PLAIN, 0 },
	{ SYS_rmdir, HERE, 0, REMOVE, PLAIN, 0 },
	{ SYS_unlink, HERE, 0, REMOVE, PLAIN, 0 },
	{ SYS_rename, HERE, 0, REMOVE, PLAIN, 0 },
	{ SYS_rename, HERE, 1, PLACE, PLAIN, 0 },
	{ SYS_link, HERE, 0, READ, PLAIN, 0 },
	{ SYS_link, HERE, 1, PLACE, PLAIN, 0 },
	{ SYS_symlink, HERE, 1, PLACE, PLAIN, 0 },
#endif
};

void trace_done(struct trace *t)
{
	trace_set_done(&t->seen);
}

bool trace_takes(const struct seccomp_data *data)
{
	for (size_t i = 0; data->arch == OUR_ARCH && i < ARRAY_LEN(calls); i++)
		if (calls[i].nr == data->nr)
			return true;
	return false;
}

/* Puts the calls of the table in front of a copy of `program` that sends refused
 * calls to the listener.  Calls of the table go to the listener, too, if they are
 * made in our own ABI. */
void trace_program(const struct seccomp_program *program, struct seccomp_program *ret)
{
	enum { HEAD = 3, ROW = 2, COUNT = ARRAY_LEN(calls) };
	const size_t front = HEAD + ROW * COUNT;
	struct sock_filter *insns = mem_zeroed(front + program->count, sizeof(*insns));
	AUTO_FREE struct sock_filter *telling =
		seccomp_replace_notified(program, SECCOMP_RET_USER_NOTIF);

	insns[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						offsetof(struct seccomp_data, arch));
	_Static_assert(ROW * COUNT + 1 <= UINT8_MAX, "the jump is too far");
	insns[1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OUR_ARCH, 0,
						(uint8_t)(ROW * COUNT + 1));
	insns[2] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < COUNT; i++) {
		struct sock_filter *row = insns + HEAD + ROW * i;

		row[0] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
						      (uint32_t)calls[i].nr, 0, 1);
		row[1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
						      SECCOMP_RET_USER_NOTIF);
	}
	memcpy(insns + front, telling, program->count * sizeof(*insns));
	*ret = (struct seccomp_program){ .insns = insns, .count = front + program->count,
					 .owned = insns };
}

/* --- the caller ------------------------------------------------------------------- */

/* Reads the path of the folder at which a relative path begins, as the caller's mount
 * namespace shows it.  The result is only text; no path is looked up. */
static bool read_base(const struct notify_target *c, int dir, char *to)
{
	const int fd = dir == HERE ? AT_FDCWD : (int)c->call->data.args[dir];
	char link[64];

	if (fd == AT_FDCWD)
		(void)snprintf(link, sizeof(link), "/proc/%u/cwd",
			       c->call->pid); /* the buffer is large enough */
	else
		(void)snprintf(link, sizeof(link), "/proc/%u/fd/%d", c->call->pid, fd);
	const ssize_t len = readlink(link, to, TRACE_SET_PATH_MAX - 1);
	if (len <= 0)
		return false;
	to[len] = '\0';
	return true;
}

/* --- one row ---------------------------------------------------------------------- */

static unsigned use_of_open(uint64_t flags)
{
	const unsigned mode = flags & O_ACCMODE;

	if (flags & O_PATH)
		return LOOK;
	return (mode == O_RDONLY ? READ : WRITE) | (flags & O_TRUNC ? WRITE : 0u) |
	       (flags & O_CREAT ? CREATE : 0u);
}

/* Returns how the call uses the path (enum trace_set_use); 0: unknown. */
static unsigned use_of(const struct notify_target *c, const struct traced_call *row)
{
	const uint64_t value = c->call->data.args[row->flags];
	uint64_t flags;

	_Static_assert(offsetof(struct open_how, flags) == 0, "flags do not come first");
	if (row->shape == OPEN)
		return use_of_open(value);
	if (row->shape == OPEN_HOW)
		return notify_target_read(c, value, &flags, sizeof(flags)) ==
				       sizeof(flags)
			       ? use_of_open(flags)
			       : 0;
	return row->use;
}

/* Returns whether a path need not be noted down: every sandbox shows it or has a file
 * of its own there, and programs use many such paths. */
static bool is_everywhere(const char *path)
{
	static const char *const folders[] = { "/usr/", "/proc/", "/dev/", "/sys/" };

	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		if (!strncmp(path, folders[i], strlen(folders[i])))
			return true;
	return false;
}

static void note_path(struct trace *t, const struct notify_target *c,
		      const struct traced_call *row)
{
	char base[TRACE_SET_PATH_MAX] = "", text[TRACE_SET_PATH_MAX],
	     path[TRACE_SET_PATH_MAX];
	const unsigned use = use_of(c, row);

	/* The path "" refers to a descriptor, or to nothing at all, so no path is
	 * noted down. */
	if (!use || notify_target_read_path(c, c->call->data.args[row->path], text) < 0 ||
	    !*text)
		return;
	if (*text != '/' && !read_base(c, row->dir, base))
		return;
	if (!trace_set_join(base, text, path) || is_everywhere(path) ||
	    !notify_target_waits(c))
		return;
	trace_set_add(&t->seen, path, use);
}

/* --- addresses -------------------------------------------------------------------- */

static void tell_inet(const struct sockaddr_in *a, char *to, size_t size)
{
	char host[INET_ADDRSTRLEN] = "";

	(void)inet_ntop(AF_INET, &a->sin_addr, host, sizeof(host)); /* the buffer is
								     * large enough */
	(void)snprintf(to, size, "%s:%u", host, ntohs(a->sin_port));
}

static void tell_inet6(const struct sockaddr_in6 *a, char *to, size_t size)
{
	char host[INET6_ADDRSTRLEN] = "";

	(void)inet_ntop(AF_INET6, &a->sin6_addr, host, sizeof(host)); /* the buffer is
								       * large enough */
	(void)snprintf(to, size, "[%s]:%u", host, ntohs(a->sin6_port));
}

/* Writes a Unix address as text.  An abstract name begins with a 0, and need
 * not end in one (unix(7)). */
static void tell_unix(const struct sockaddr_un *a, size_t len, char *to, size_t size)
{
	const char *name = a->sun_path;
	const size_t max = len - offsetof(struct sockaddr_un, sun_path);

	if (max && !*name)
		(void)snprintf(to, size, "unix:@%.*s", (int)(max - 1), name + 1);
	else if (max)
		(void)snprintf(to, size, "unix:%.*s", (int)max, name);
}

static void note_address(struct trace *t, const struct notify_target *c,
			 const struct traced_call *row)
{
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_un un;
	} a = { 0 };
	const uint64_t said = c->call->data.args[row->flags];
	const uint64_t at = c->call->data.args[row->path];
	const size_t want = said < sizeof(a) ? (size_t)said : sizeof(a);
	const ssize_t len = at && want >= sizeof(a.any.sa_family)
				    ? notify_target_read(c, at, &a, want)
				    : -1;
	char text[sizeof(*t->seen.addresses)] = "";

	if (len != (ssize_t)want || !notify_target_waits(c))
		return;
	if (a.any.sa_family == AF_INET && want >= sizeof(a.in))
		tell_inet(&a.in, text, sizeof(text));
	else if (a.any.sa_family == AF_INET6 &&
		 want >= offsetof(struct sockaddr_in6, sin6_scope_id))
		tell_inet6(&a.in6, text, sizeof(text));
	else if (a.any.sa_family == AF_UNIX)
		tell_unix(&a.un, want, text, sizeof(text));
	if (*text)
		trace_set_add_address(&t->seen, text);
}

void trace_call(struct trace *t, int listener, const struct seccomp_notif *call)
{
	const struct notify_target c = { listener, call };

	for (size_t i = 0; (pid_t)call->pid != t->init && i < ARRAY_LEN(calls); i++) {
		if (calls[i].nr != call->data.nr)
			continue;
		if (calls[i].shape == ADDRESS)
			note_address(t, &c, &calls[i]);
		else
			note_path(t, &c, &calls[i]);
	}
}
