#include "supervisor/confine.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd_keep.h"
#include "base/io.h"
#include "base/kernel.h"
#include "base/own.h"
#include "sandbox/cgroup/cgroup.h"
#include "sandbox/kernel/caps.h"
#include "sandbox/kernel/landlock.h"
#include "sandbox/kernel/mount_options.h"
#include "sandbox/kernel/seccomp.h"
#include "sandbox/state/registry.h"
#include "sandbox/state/saved_spec.h"
#include "sandbox/state/state_dir.h"
#include "supervisor/peer.h"

static const struct sock_filter supervisor_program[] = {
#include "gen/seccomp_supervisor.h"
};

/* --- whether Landlock can be had ------------------------------------------------ */

/* Returns the same as hides_processes(), from the list of all mounts. */
static bool hides_by_list(void)
{
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	AUTO_FREE char *line = NULL;
	size_t room = 0;
	bool hides = !mounts;

	/* Line by line: the pages of a longer text would stay with this process. */
	while (!hides && getline(&line, &room, mounts) > 0)
		hides = strstr(line, " /proc ") && strstr(line, "hidepid=");
	if (mounts) {
		hides |= ferror(mounts);
		(void)fclose(mounts); /* only read */
	}
	return hides;
}

/* Returns whether /proc hides the processes of other users: its mount has the option
 * hidepid= (proc(5)). */
static bool hides_processes(void)
{
	char options[256];

	return mount_options_read("/proc", options, sizeof(options)) == 0
		       ? strstr(options, "hidepid=") != NULL
		       : hides_by_list();
}

bool confine_has_landlock(const struct peer_self *self, bool reads_memory)
{
	return !reads_memory && landlock_abi() >= LANDLOCK_ABI_REFER && self->can_tell &&
	       !hides_processes();
}

const char *confine_name(bool has_landlock)
{
	return has_landlock ? "landlock+seccomp" : "seccomp";
}

/* --- Landlock --------------------------------------------------------------------- */

/* The rights in the registry's folder.  At a sandbox's end or new name its entry, a
 * folder, is moved, and a folder is made.  The rights extend to all folders in the
 * registry, also to those of other sandboxes, but not to the content of files. */
#define STATE_RIGHTS (LANDLOCK_READ_DIR | LANDLOCK_MAKE_DIR | LANDLOCK_REMOVE_DIR | \
		      LANDLOCK_REFER)
/* The oldest records in .ended and .tmp are removed. */
#define STATE_DIR_RIGHTS (STATE_RIGHTS | LANDLOCK_REMOVE_FILE)
#define OWN_RIGHTS   (STATE_DIR_RIGHTS | LANDLOCK_READ_FILE | LANDLOCK_WRITE_FILE | \
		      LANDLOCK_TRUNCATE | LANDLOCK_MAKE_REG)
/* The rights in the audit log's folder: to create the log's next file, and to truncate
 * an entry that could be written only in part. */
#define AUDIT_RIGHTS (LANDLOCK_READ_DIR | LANDLOCK_READ_FILE | LANDLOCK_WRITE_FILE | \
		      LANDLOCK_TRUNCATE | LANDLOCK_MAKE_REG)
#define READ_RIGHTS  (LANDLOCK_READ_DIR | LANDLOCK_READ_FILE)

enum {
	STATE,
	ENDED,
	TMP,
	OWN,
	PROC,
	DEV_NULL,
	AUDIT,
	KEPT,
	PARENT,
	PROCS,
	CONTROL,
	CGROUP,
	RULES
};

/* Makes a rule that allows rights on a file.  If the file does not exist the rule's
 * descriptor is -1, and the rule has no effect. */
static struct landlock_rule rule(int dir, const char *name, uint64_t allowed)
{
	return (struct landlock_rule){ openat(dir, name, O_PATH | O_CLOEXEC), allowed };
}

/* Adds rules for the cgroup.  Its parent contains other sandboxes' cgroups too, so on
 * the parent only those rights are given that cgroup_remove() and cgroup_update() need.
 * They do not suffice to disable a controller that a child uses (cgroup-v2, "Top-down
 * Constraint"). */
static void add_cgroup(const struct delegate *parent, const char *name,
		       struct landlock_rule rules[RULES])
{
	if (!parent->path)
		return;
	rules[PARENT] = rule(parent->fd, ".", READ_RIGHTS | LANDLOCK_REMOVE_DIR);
	rules[CGROUP] = rule(parent->fd, name,
			     READ_RIGHTS | LANDLOCK_REMOVE_DIR | LANDLOCK_WRITE_FILE);
	rules[CONTROL] = rule(parent->fd, "cgroup.subtree_control", LANDLOCK_WRITE_FILE);
	if (parent->is_own && !parent->is_scope)
		rules[PROCS] = rule(parent->fd, "cgroup.procs", LANDLOCK_WRITE_FILE);
}

static int enter_landlock(const struct confine *c, struct err *e)
{
	int state = c->entry->state;
	/* The saved spec of a kept sandbox is in this folder, and is moved by a
	 * rename. */
	AUTO_CLOSE int kept = c->saved_spec ? saved_spec_place(e) : -1;
	if (c->saved_spec && kept < 0)
		return -1;
	struct landlock_rule rules[RULES] = {
		[STATE] = rule(state, ".", STATE_RIGHTS),
		[ENDED] = rule(state, STATE_DIR_ENDED, STATE_DIR_RIGHTS),
		[TMP] = rule(state, STATE_DIR_TMP, STATE_DIR_RIGHTS),
		[OWN] = rule(c->entry->folder, ".", OWN_RIGHTS),
		[PROC] = rule(-1, "/proc", READ_RIGHTS),
		[DEV_NULL] = rule(-1, "/dev/null",
				  LANDLOCK_READ_FILE | LANDLOCK_WRITE_FILE),
		[AUDIT] = c->audit > 0 ? rule(c->audit, ".", AUDIT_RIGHTS)
				       : (struct landlock_rule){ .fd = -1 },
		[KEPT] = kept >= 0 ? rule(kept, ".", STATE_RIGHTS)
				   : (struct landlock_rule){ .fd = -1 },
		[PARENT] = { .fd = -1 }, [PROCS] = { .fd = -1 },
		[CONTROL] = { .fd = -1 }, [CGROUP] = { .fd = -1 },
	};

	add_cgroup(&c->cgroup->parent, c->cgroup->name, rules);
	int result = landlock_confine(rules, RULES, LANDLOCK_SPARES_SIGNALS, e);
	for (size_t i = 0; i < RULES; i++)
		own_close(&rules[i].fd);
	return result;
}

/* --- seccomp ---------------------------------------------------------------------- */

#define WORD(field) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IS(k, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(k), yes, no)
#define RETURN(k) BPF_STMT(BPF_RET | BPF_K, (k))
#define SIGNAL_INSNS   13 /* instructions of the part for signals */

/* Writes the first part of the filter, which lets the supervisor signal only its own
 * processes: it refuses other signals, and jumps to the instruction behind this part for
 * all else.  kill(2) takes an int, so the low word is enough; both architectures are
 * little-endian.  The number of a child is not reused before the supervisor has waited
 * for it; after that the supervisor sends no signal.  tgkill(2) is for abort(3).  Calls
 * of another ABI, which have other numbers, are refused by the second part. */
static void narrow_signals(const struct confine *c, struct sock_filter ret[SIGNAL_INSNS])
{
	const pid_t server = c->server > 0 ? c->server : c->child;
	const pid_t broker = c->broker > 0 ? c->broker : c->child;
	const pid_t gate = c->gate > 0 ? c->gate : c->child;
	const pid_t egress = c->egress > 0 ? c->egress : c->child;
	const pid_t peers = c->peers > 0 ? c->peers : c->child;
	const struct sock_filter insns[] = {
		WORD(nr),
		IS(SYS_kill, 1, 0),
		IS(SYS_tgkill, 7, 10),
		WORD(args[0]),
		IS(c->child, 8, 0),
		IS(server, 7, 0),
		IS(broker, 6, 0),
		IS(gate, 5, 0),
		IS(egress, 4, 0),
		IS(peers, 3, 2),
		WORD(args[0]),
		IS(getpid(), 1, 0),
		RETURN(SECCOMP_RET_ERRNO | EPERM),
	};

	_Static_assert(ARRAY_LEN(insns) == SIGNAL_INSNS,
		       "the first part has another size");
	memcpy(ret, insns, sizeof(insns));
}

/* Installs both parts as one filter: the kernel compiles each filter anew, and runs each
 * at every call. */
static int enter_seccomp(const struct confine *c, struct err *e)
{
	struct sock_filter insns[SIGNAL_INSNS + ARRAY_LEN(supervisor_program)];
	const struct seccomp_program program = { .insns = insns,
						 .count = ARRAY_LEN(insns) };

	narrow_signals(c, insns);
	memcpy(insns + SIGNAL_INSNS, supervisor_program, sizeof(supervisor_program));
	return seccomp_install(&program, e);
}

int confine_enter(const struct confine *c, struct err *e)
{
	if (fd_keep(c->keep, c->keep_count) < 0)
		return err_sys(e, "confine the supervisor: close descriptors");
	if (caps_drop(e) < 0)
		return err_in(e, "confine the supervisor");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(e, "confine the supervisor: prctl PR_SET_NO_NEW_PRIVS");
	if (c->has_landlock && enter_landlock(c, e) < 0) /* layer: supervisor-landlock */
		return err_in(e, "confine the supervisor");
	if (enter_seccomp(c, e) < 0) /* layer: supervisor-seccomp */
		return err_in(e, "confine the supervisor");
	return 0;
}
