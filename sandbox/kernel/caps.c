#include "sandbox/kernel/caps.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "policy/policy.h"

#define BIT(n) (1ull << (n))

/* The capabilities of an image's root over files and ids of its own namespace:
 * the part of Docker's default set that package managers need. */
static const uint64_t root_set = BIT(CAP_CHOWN) | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_FOWNER) |
				 BIT(CAP_FSETID) | BIT(CAP_SETUID) | BIT(CAP_SETGID);

/* In the order of their numbers (capabilities(7)). */
static const char *const names[] = {
	"CHOWN",	  "DAC_OVERRIDE",  "DAC_READ_SEARCH", "FOWNER",
	"FSETID",	  "KILL",	   "SETGID",	      "SETUID",
	"SETPCAP",	  "LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST",
	"NET_ADMIN",	  "NET_RAW",	   "IPC_LOCK",	      "IPC_OWNER",
	"SYS_MODULE",	  "SYS_RAWIO",	   "SYS_CHROOT",      "SYS_PTRACE",
	"SYS_PACCT",	  "SYS_ADMIN",	   "SYS_BOOT",	      "SYS_NICE",
	"SYS_RESOURCE",	  "SYS_TIME",	   "SYS_TTY_CONFIG",  "MKNOD",
	"LEASE",	  "AUDIT_WRITE",   "AUDIT_CONTROL",   "SETFCAP",
	"MAC_OVERRIDE",	  "MAC_ADMIN",	   "SYSLOG",	      "WAKE_ALARM",
	"BLOCK_SUSPEND",  "AUDIT_READ",	   "PERFMON",	      "BPF",
	"CHECKPOINT_RESTORE",
};
_Static_assert(ARRAY_LEN(names) == CAP_CHECKPOINT_RESTORE + 1, "a capability is missing");

int caps_parse(const char *name, struct err *e)
{
	const char *bare = strncasecmp(name, "cap_", 4) ? name : name + 4;

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcasecmp(bare, names[i]))
			return (int)i;
	return err_set(e, ERR_USAGE, "unknown capability '%.60s'", name);
}

const char *caps_name(int number)
{
	if (number < 0 || (size_t)number >= ARRAY_LEN(names))
		return "?";
	return names[number];
}

uint64_t caps_for(const struct policy *policy, uint32_t uid)
{
	uint64_t set = uid == 0 ? root_set : 0;

	if (policy->drops_all_caps)
		set = 0;
	return (set & ~policy->cap_drop) | policy->cap_add;
}

/* Permitted capabilities become effective too: to raise an ambient capability
 * takes it permitted and inheritable, and the executor gives up what it does
 * not use itself. */
static int set_sets(uint64_t permitted, uint64_t inheritable, struct err *e)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	for (size_t i = 0; i < ARRAY_LEN(data); i++) {
		data[i].permitted = data[i].effective = (uint32_t)(permitted >> (32 * i));
		data[i].inheritable = (uint32_t)(inheritable >> (32 * i));
	}
	if (syscall(SYS_capset, &header, data) < 0)
		return err_sys(e, "set the capabilities");
	return 0;
}

static int raise_ambient(uint64_t kept, struct err *e)
{
	for (int n = 0; n < 64; n++)
		if ((kept & BIT(n)) && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, n, 0, 0) < 0)
			return err_sys(e, "hand on CAP_%s", caps_name(n));
	return 0;
}

/* A new user namespace starts with the bounding set full.  EINVAL at the
 * kernel's highest number ends the loop. */
static int reduce_bounding(uint64_t kept, struct err *e)
{
	for (int n = 0; n < 64; n++) {
		if ((kept & BIT(n)) || prctl(PR_CAPBSET_DROP, n, 0, 0, 0) == 0)
			continue;
		if (errno == EINVAL)
			return 0;
		return err_sys(e, "drop CAP_%s from the bounding set", caps_name(n));
	}
	return 0;
}

int caps_reduce(uint64_t kept, uint64_t handed_on, bool is_root, struct err *e)
{
	/* Across execve(2), root keeps its bounding set and the inheritable
	 * set; every other user keeps only the ambient set. */
	const uint64_t inherited = is_root ? kept & ~handed_on : kept;
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct now[2];

	if (syscall(SYS_capget, &header, now) < 0)
		return err_sys(e, "read the capabilities");
	/* All capabilities of the namespace's owner stay until the bounding set
	 * is reduced, which takes CAP_SETPCAP.  The inheritable set is set
	 * before that: it cannot be raised above the bounding set. */
	uint64_t have = now[0].permitted | (uint64_t)now[1].permitted << 32;
	if (set_sets(have, inherited, e) < 0 || raise_ambient(is_root ? 0 : kept, e) < 0 ||
	    reduce_bounding(handed_on, e) < 0) /* layer: bounding-set */
		return -1;
	return set_sets(kept, inherited, e);
}

/* This empties the ambient set too, which is a part of the permitted and
 * inheritable ones (capabilities(7)). */
int caps_drop(struct err *e)
{
	return set_sets(0, 0, e);
}

int caps_keep(uint64_t kept, struct err *e)
{
	return set_sets(kept, 0, e);
}

int caps_raise(uint64_t kept, uint64_t raised)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(data); i++) {
		data[i].permitted = (uint32_t)(kept >> (32 * i));
		data[i].effective = (uint32_t)(raised >> (32 * i));
	}
	return (int)syscall(SYS_capset, &header, data);
}
