#include "sandbox/kernel/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/regular.h"
#include "policy/seccomp/compile.h"
#include "sandbox/kernel/seccomp_cache.h"
#include "sandbox/kernel/seccomp_compiler.h"

#define PROFILE_MAX (4 << 20)
#define CAPS_MAX    64
#define FIXED_ARGS  8

#ifdef __aarch64__
#define ARCH_NAME "aarch64"
#else
#define ARCH_NAME "x86_64"
#endif

static const struct sock_filter default_program[] = {
#include "gen/seccomp_default.h"
};

static const struct sock_filter floor_program[] = {
#include "gen/seccomp_floor.h"
};

static const struct sock_filter nesting_program[] = {
#include "gen/seccomp_nesting.h"
};

static const struct sock_filter nesting_floor_program[] = {
#include "gen/seccomp_nesting_floor.h"
};

static const struct sock_filter pretend_program[] = {
#include "gen/seccomp_pretend.h"
};

static const struct sock_filter landlock_program[] = {
#include "gen/seccomp_landlock.h"
};

static const struct sock_filter landlock_offline_program[] = {
#include "gen/seccomp_landlock_offline.h"
};

static const struct sock_filter landlock_online_program[] = {
#include "gen/seccomp_landlock_online.h"
};

static const struct sock_filter landlock_early_program[] = {
#include "gen/seccomp_landlock_early.h"
};

/* A request to compile a profile, and all other inputs that the resulting program
 * depends on. */
struct order {
	const struct seccomp_request *request;
	char kernel[16]; /* the kernel's version, such as "6.1" */
	char *profile;	 /* owned; the profile's text */
	size_t len;
	struct stat compiler;
};

void seccomp_default(enum seccomp_nesting nesting, struct seccomp_program *ret)
{
	static const struct seccomp_program programs[] = {
		[SECCOMP_FLAT] = { default_program, ARRAY_LEN(default_program), NULL },
		[SECCOMP_NESTS] = { nesting_program, ARRAY_LEN(nesting_program), NULL },
	};

	*ret = programs[nesting];
}

void seccomp_floor(enum seccomp_nesting nesting, struct seccomp_program *ret)
{
	static const struct seccomp_program programs[] = {
		[SECCOMP_FLAT] = { floor_program, ARRAY_LEN(floor_program), NULL },
		[SECCOMP_NESTS] = { nesting_floor_program,
				    ARRAY_LEN(nesting_floor_program), NULL },
	};

	*ret = programs[nesting];
}

void seccomp_pretend(struct seccomp_program *ret)
{
	*ret = (struct seccomp_program){ .insns = pretend_program,
					 .count = ARRAY_LEN(pretend_program) };
}

void seccomp_landlock(enum seccomp_landlock which, struct seccomp_program *ret)
{
	static const struct seccomp_program programs[] = {
		[SECCOMP_LANDLOCK] = { landlock_program, ARRAY_LEN(landlock_program),
				       NULL },
		[SECCOMP_LANDLOCK_OFFLINE] = { landlock_offline_program,
					       ARRAY_LEN(landlock_offline_program),
					       NULL },
		[SECCOMP_LANDLOCK_ONLINE] = { landlock_online_program,
					      ARRAY_LEN(landlock_online_program), NULL },
		[SECCOMP_LANDLOCK_EARLY] = { landlock_early_program,
					     ARRAY_LEN(landlock_early_program), NULL },
	};

	*ret = programs[which];
}

static int read_profile(struct order *o, struct err *e)
{
	const char *path = o->request->profile;

	if (o->request->whole) {
		o->len = o->request->whole_len;
		o->profile = mem_copy(o->request->whole, o->len);
		return 0;
	}
	AUTO_FREE char *about = text_format("seccomp profile %s", path);
	AUTO_CLOSE int fd = regular_open(AT_FDCWD, path, 0, about, e);
	if (fd < 0)
		return err_remedy(e,
				  "FILE is a profile in OCI's or docker's JSON; without "
				  "the flag hutch's own is in force");
	return io_read_file(fd, path, PROFILE_MAX, &o->profile, &o->len, e);
}

/* Reads the kernel's version, for minKernel in Docker's profiles ("6.1.0-13-amd64"
 * is 6.1), and looks at the compiler's file. */
static int read_host(struct order *o, struct err *e)
{
	struct utsname host;
	unsigned major, minor;

	if (uname(&host) || sscanf(host.release, "%4u.%4u", &major, &minor) != 2)
		return err_set(e, ERR_SYSTEM, "the kernel does not tell its version");
	/* two numbers of at most 4 digits fit */
	(void)snprintf(o->kernel, sizeof(o->kernel), "%u.%u", major, minor);
	if (stat(o->request->compiler, &o->compiler))
		return err_sys(e, "find the seccomp compiler %s", o->request->compiler);
	return 0;
}

static const char *floor_name(const struct seccomp_request *r)
{
	return r->whole ? "none" : r->nesting == SECCOMP_NESTS ? "nesting" : "full";
}

/* Makes the cache's key out of every input that the program depends on.  libseccomp's
 * tables are linked into the compiler, so the identity of the compiler's file stands for
 * them. */
static void make_key(const struct order *o, struct seccomp_key *ret)
{
	const struct stat *c = &o->compiler;
	FILE *out = open_memstream(&ret->bytes, &ret->len);

	if (!out)
		abort();
	(void)fprintf(out, "version %s\narch %s\nkernel %s\n", COMPILE_VERSION, ARCH_NAME,
		      o->kernel);
	(void)fprintf(out, "compiler %ju %ju %jd %jd.%09ld\n", (uintmax_t)c->st_dev,
		      (uintmax_t)c->st_ino, (intmax_t)c->st_size,
		      (intmax_t)c->st_mtim.tv_sec, c->st_mtim.tv_nsec);
	(void)fprintf(out, "floor %s\n", floor_name(o->request));
	for (size_t i = 0; o->request->caps && o->request->caps[i]; i++)
		(void)fprintf(out, "cap %s\n", o->request->caps[i]);
	(void)fprintf(out, "profile %zu\n", o->len);
	(void)fwrite(o->profile, 1, o->len, out);
	if (fclose(out))
		abort(); /* a stream in memory fails only when memory is short */
}

static struct sock_filter *compile(const struct order *o, size_t *ret_count,
				   struct err *e)
{
	const char *argv[FIXED_ARGS + 2 * CAPS_MAX + 1] = {
		o->request->compiler, "compile", "--arch",  ARCH_NAME,
		"--kernel",	      o->kernel, "--floor", floor_name(o->request),
	};
	size_t n = FIXED_ARGS;

	for (size_t i = 0; o->request->caps && o->request->caps[i]; i++) {
		if (i == CAPS_MAX) {
			(void)err_set(e, ERR_LIMIT, "more than %d capabilities",
				      CAPS_MAX);
			return NULL;
		}
		argv[n++] = "--cap";
		argv[n++] = o->request->caps[i];
	}

	struct sock_filter *insns = seccomp_compiler_run((char *const *)argv, o->profile,
							 o->len, ret_count, e);
	if (!insns)
		(void)err_in(e, "seccomp profile %s",
			     o->request->whole ? "linux.seccomp" : o->request->profile);
	return insns;
}

static int find_or_compile(const struct order *o, const struct seccomp_key *key,
			   struct seccomp_program *ret, struct err *e)
{
	const char *path = o->request->cache_dir;
	AUTO_CLOSE int cache = path ? seccomp_cache_open(path) : -1;
	struct sock_filter *insns = NULL;
	size_t count = 0;

	if (cache >= 0)
		insns = seccomp_cache_get(cache, key, &count);
	if (!insns) {
		insns = compile(o, &count, e);
		if (!insns)
			return -1;
		/* a failed write to the cache, as on a full disk, only makes the next
		 * launch slower */
		if (cache >= 0)
			(void)seccomp_cache_put(cache, key, insns, count);
	}
	*ret = (struct seccomp_program){ .insns = insns, .count = count, .owned = insns };
	return 0;
}

int seccomp_obtain(const struct seccomp_request *request, struct seccomp_program *ret,
		   struct err *e)
{
	struct order o = { .request = request };
	struct seccomp_key key = { 0 };

	if (!request->profile && !request->whole) {
		seccomp_default(request->nesting, ret);
		return 0;
	}

	int rc = read_host(&o, e) || read_profile(&o, e);
	if (!rc) {
		make_key(&o, &key);
		rc = find_or_compile(&o, &key, ret, e);
	}
	free(key.bytes);
	free(o.profile);
	return rc ? -1 : 0;
}

int seccomp_install(const struct seccomp_program *program, struct err *e)
{
	const struct sock_fprog prog = {
		.len = (unsigned short)program->count,
		.filter = (struct sock_filter *)program->insns,
	};

	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog))
		return err_sys(e, "install the seccomp filter of %zu instructions",
			       program->count);
	return 0;
}

/* --- a listener ------------------------------------------------------------------- */

bool seccomp_is_notified(uint32_t action)
{
	const uint32_t error = action & SECCOMP_RET_DATA;

	return (action & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO && error &&
	       error != ENOSYS;
}

struct sock_filter *seccomp_replace_notified(const struct seccomp_program *program,
					     uint32_t by)
{
	struct sock_filter *insns =
		mem_copy(program->insns, program->count * sizeof(*insns));

	for (size_t i = 0; i < program->count; i++)
		if (insns[i].code == (BPF_RET | BPF_K) && seccomp_is_notified(insns[i].k))
			insns[i].k = by;
	return insns;
}

void seccomp_pretend_above(struct seccomp_program *ret)
{
	seccomp_pretend(ret);
	ret->owned = seccomp_replace_notified(ret, SECCOMP_RET_ALLOW);
	ret->insns = ret->owned;
}

/* Installs the filter without SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (5.19), so that any
 * signal interrupts a process that waits for the launcher's answer: with the flag only
 * SIGKILL would, and a launcher that hangs would hang the process.  An interrupted call
 * that is made again goes through the filter again. */
int seccomp_install_telling(const struct seccomp_program *program, int *ret_listener,
			    struct err *e)
{
	AUTO_FREE struct sock_filter *insns =
		seccomp_replace_notified(program, SECCOMP_RET_USER_NOTIF);
	const struct sock_fprog prog = { .len = (unsigned short)program->count,
					 .filter = insns };

	long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			  SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog);
	if (fd < 0 && seccomp_install(program, e) < 0)
		return -1;
	*ret_listener = (int)fd;
	return 0;
}

static int cannot_listen(struct err *e)
{
	int sys = errno;

	(void)err_sys(e, "install a seccomp listener");
	if (sys == EBUSY) {
		(void)err_in(e,
			     "the filter around this process has a listener already, and "
			     "there can be one");
		return err_remedy(e, "start the outer container with --security-opt "
				     "seccomp=unconfined");
	}
	if (sys == EINVAL)
		return err_remedy(e, "a kernel with CONFIG_SECCOMP_FILTER, 5.0 or newer");
	if (sys == EPERM || sys == ENOSYS)
		return err_remedy(
			e, "a seccomp filter around this process refuses it: start "
			   "the outer container with --security-opt "
			   "seccomp=unconfined");
	return -1;
}

static int listen_to(const struct seccomp_program *program, unsigned long flags)
{
	const struct sock_fprog prog = {
		.len = (unsigned short)program->count,
		.filter = (struct sock_filter *)program->insns,
	};

	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			    SECCOMP_FILTER_FLAG_NEW_LISTENER | flags, &prog);
}

int seccomp_install_listening(const struct seccomp_program *program, int *ret_listener,
			      struct err *e)
{
	const int fd = listen_to(program, 0);

	if (fd < 0)
		return cannot_listen(e);
	*ret_listener = fd;
	return 0;
}

/* Some C libraries' headers are older than SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV. */
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1ul << 5)
#endif

int seccomp_install_killable(const struct seccomp_program *program, int *ret_listener,
			   struct err *e)
{
	const int fd = listen_to(program, SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);

	if (fd < 0)
		return seccomp_install_listening(program, ret_listener, e);
	*ret_listener = fd;
	return 0;
}

int seccomp_try_listener(struct err *e)
{
	struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	const struct seccomp_program program = { .insns = &all, .count = 1 };
	int fd = -1;

	return seccomp_install_listening(&program, &fd, e) < 0 ? -1 : fd;
}

void seccomp_done(struct seccomp_program *program)
{
	free(program->owned);
	*program = (struct seccomp_program){ 0 };
}
