#include "sandbox/plan/plan_rlimits.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "policy/policy.h"
#include "policy/units.h"
#include "sandbox/plan/plan.h"

/* The default limits.  Each is num/den of the caller's soft limit, but at most
 * `most`. */
static const struct share {
	int resource;
	unsigned num, den;
	uint64_t most;
} shares[] = {
	{ RLIMIT_NPROC, 1, 2, 4096 },
	{ RLIMIT_NOFILE, 3, 4, 65536 }, /* spare_message() may lower this limit */
	{ RLIMIT_SIGPENDING, 1, 4, 16384 },
	{ RLIMIT_MSGQUEUE, 1, 4, UINT64_MAX },
	{ RLIMIT_MEMLOCK, 1, 4, UINT64_MAX },
	{ RLIMIT_CORE, 1, 1, RLIMITS_NO_CORE },
	{ RLIMIT_NICE, 0, 1, 0 },
	{ RLIMIT_RTPRIO, 0, 1, 0 },
};

static void set_limit(struct plan *p, int resource, uint64_t soft, uint64_t hard)
{
	struct exec_rlimit *r = p->rlimits;
	struct exec_rlimit *end = r + p->rlimit_count;

	while (r < end && r->resource != (uint32_t)resource)
		r++;
	if (r == end)
		p->rlimit_count++;
	*r = (struct exec_rlimit){ (uint32_t)resource, soft, hard };
}

/* The kernel counts the descriptors that all processes of a user have in flight over
 * unix sockets, sandboxes included, and compares that sum with the soft limit of the
 * process that sends.  A sandbox may exceed its own limit by one message of 253
 * descriptors (unix(7), ETOOMANYREFS), so its limit is at least that much below the
 * caller's, unless that would leave fewer than 64: a session's shell does not work with
 * fewer than 63. */
static uint64_t spare_message(uint64_t value, uint64_t own)
{
	enum { MESSAGE = 254, LEAST = 64 };
	const uint64_t rest = own > MESSAGE + LEAST ? own - MESSAGE : LEAST;

	return rest < value ? rest : value;
}

static void set_share(struct plan *p, const struct share *s, const struct rlimit *own)
{
	uint64_t value = s->most;

	if (own->rlim_cur != RLIM_INFINITY && own->rlim_cur / s->den * s->num < value)
		value = own->rlim_cur / s->den * s->num;
	if (s->resource == RLIMIT_NOFILE)
		value = spare_message(value, own->rlim_cur);
	/* without a limit of the caller's, there is nothing to take a share of */
	if (value == UINT64_MAX)
		value = RLIM_INFINITY;
	if (s->resource == RLIMIT_CORE)
		value = own->rlim_max < 1 ? own->rlim_max : 1;
	set_limit(p, s->resource, value, value);
}

static uint64_t lower(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* With --best-effort a limit above the hard limit of hutch itself becomes that limit. */
static int set_ulimit(struct plan *p, const struct ulimit *u, bool is_best_effort,
		      struct err *e)
{
	struct rlimit own;

	if (getrlimit(u->resource, &own) < 0)
		return err_sys(e, "getrlimit %s", units_ulimit_name(u->resource));
	if (is_best_effort) {
		set_limit(p, u->resource, lower(u->soft, own.rlim_max),
			  lower(u->hard, own.rlim_max));
		return 0;
	}
	if (own.rlim_max != RLIM_INFINITY && u->hard > own.rlim_max) {
		(void)err_set(e, ERR_LIMIT,
			      "%s cannot be raised above %llu, the hard limit "
			      "that hutch itself runs under",
			      units_ulimit_name(u->resource),
			      (unsigned long long)own.rlim_max);
		return err_from(e, u->from);
	}
	set_limit(p, u->resource, u->soft, u->hard);
	return 0;
}

#define NESTED_MAX 128 /* with --nesting: namespaces of each kind at a time */

static uint64_t read_sysctl(const char *name)
{
	AUTO_FREE char *text = NULL;
	char path[96];
	size_t len;

	(void)snprintf(path, sizeof(path), "/proc/sys/%s", name);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || io_read_file(fd, path, 64, &text, &len, NULL) < 0)
		return 0;
	return strtoull(text, NULL, 10);
}

static void add_sysctl(struct plan *p, const char *name, uint64_t value)
{
	p->sysctls[p->sysctl_count++] = (struct sysctl){ .name = name, .value = value };
}

static void add_quarter(struct plan *p, const char *name)
{
	add_sysctl(p, name, read_sysctl(name) / 4);
}

/* No namespaces can be made inside ours, even if a seccomp filter allows the calls: the
 * others are made in user namespaces.  With --nesting the number of each kind is bounded,
 * since each takes memory of the kernel's; the bounds hold for all user namespaces below
 * ours together (namespaces(7)). */
static void add_namespaces(struct plan *p, bool nests)
{
	static const char *const kinds[] = {
		"user/max_mnt_namespaces", "user/max_pid_namespaces",
		"user/max_net_namespaces", "user/max_ipc_namespaces",
		"user/max_uts_namespaces", "user/max_cgroup_namespaces"
	};

	/* layer: nested-namespaces */
	add_sysctl(p, "user/max_user_namespaces", nests ? NESTED_MAX : 0);
	for (size_t i = 0; nests && i < ARRAY_LEN(kinds); i++)
		add_sysctl(p, kinds[i], NESTED_MAX);
}

int plan_rlimits(struct plan *p, const struct policy *policy, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(shares); i++) {
		struct rlimit own;
		if (getrlimit(shares[i].resource, &own) < 0)
			return err_sys(e, "getrlimit %s",
				       units_ulimit_name(shares[i].resource));
		set_share(p, &shares[i], &own);
	}
	for (size_t i = 0; i < policy->ulimit_count; i++)
		if (set_ulimit(p, &policy->ulimits[i], policy->is_best_effort, e) < 0)
			return -1;

	add_namespaces(p, policy->is_nesting);
	add_quarter(p, "user/max_inotify_instances");
	add_quarter(p, "user/max_inotify_watches");
	/* A process that waits to send into a full datagram queue has already passed the
	 * check of RLIMIT_NOFILE, and since 6.10 (also in Debian's 6.1.176) its
	 * descriptors count as in flight only once they are queued.  So any number of
	 * such senders, all woken at once, together exceed the limit.  If no queue is
	 * ever full, senders wait only for their own send buffers, and the kernel waits
	 * for those before that check. */
	if (p->namespaces & CLONE_NEWNET) {
		/* layer: dgram-queue */
		add_sysctl(p, "net/unix/max_dgram_qlen", INT_MAX);
		/* Kernel 5.15 does not have this sysctl in user namespaces, so its
		 * absence is no error. */
		p->sysctls[p->sysctl_count - 1].may_lack = true;
		/* Programs in a network namespace of the sandbox's own may listen at
		 * ports below 1024 without a capability: no other program's ports are in
		 * it.  A namespace that others made, and the host's, stay as they are. */
		add_sysctl(p, "net/ipv4/ip_unprivileged_port_start", 0);
	}
	return 0;
}
