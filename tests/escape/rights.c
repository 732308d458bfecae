/* The credentials we have and could gain: capabilities, no_new_privs, the
 * filter, ids and their map, keys, the caller's environment. */
#include "tests/escape/probe.h"

#include "base/own.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static void capability_set(struct trial *t)
{
	long long set = status_value(t->probe->text, 16);

	if (set < 0)
		trial_error(t, "skip", errno);
	else
		trial_says(t, "absent", "0x%llx", set);
	if (set > 0)
		snprintf(t->result, sizeof(t->result), "allowed:%llx", set);
}

static int capabilities_change(uint32_t (*change)(struct __user_cap_data_struct *))
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct sets[2] = { 0 };

	if (syscall(SYS_capget, &head, sets) < 0)
		return -1;
	sets[0].inheritable = change(&sets[0]);
	return (int)syscall(SYS_capset, &head, sets);
}

static uint32_t one_permitted(struct __user_cap_data_struct *set)
{
	return set->permitted ? set->permitted & -set->permitted : 1;
}

/* Puts a capability into the inheritable set, which survives the next exec. */
static void inherit_capability(struct trial *t)
{
	trial_call(t, capabilities_change(one_permitted));
}

static void ambient_capability(struct trial *t)
{
	/* The loop below shows whether this worked. */
	(void)capabilities_change(one_permitted);
	for (int cap = 0; cap <= CAP_LAST_CAP; cap++)
		if (!prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0)) {
			trial_says(t, "allowed", "capability %d", cap);
			return;
		}
	trial_error(t, "refused", errno);
}

/* Checks the status of a second program that this one executes: the result is
 * "absent" unless the bit in `value` is set. */
static void status_of_exec(struct trial *t)
{
	int bits = role_run("/proc/self/exe", "status", NULL);

	if (bits < 0 || bits > 63)
		trial_says(t, "skip:not-run", "exit %d", bits);
	else if (bits & (int)t->probe->value)
		trial_says(t, "refused:set", "status %d", bits);
	else
		trial_says(t, "allowed", "status %d", bits);
}

static void set_uid(struct trial *t)
{
	trial_call(t, setuid(0));
}

static void set_gid(struct trial *t)
{
	trial_call(t, setgid(0));
}

static void set_resuid(struct trial *t)
{
	trial_call(t, setresuid(0, 0, 0));
}

static void set_groups(struct trial *t)
{
	gid_t groups[64];
	int count = getgroups((int)ARRAY_LEN(groups), groups);

	trial_call(t, count < 0 ? -1 : setgroups((size_t)count, groups));
}

/* Writes a uid map.  A map can be written only once, by the namespace's owner, so
 * the probe first makes a user namespace of its own; inside a sandbox that is
 * refused. */
static void write_map(struct trial *t)
{
	char map[64];
	int len = snprintf(map, sizeof(map), "0 %u 1", getuid());

	(void)unshare(CLONE_NEWUSER); /* the control needs it */
	AUTO_CLOSE int fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
	trial_call(t, fd < 0 ? -1 : write(fd, map, (size_t)len));
}

/* newuidmap is set-uid on the host; it is tried for a child in a new namespace. */
static void run_newuidmap(struct trial *t)
{
	char pid[16], uid[16];
	int gate[2];

	if (access("/usr/bin/newuidmap", X_OK)) {
		trial_file(t, -1);
		return;
	}
	if (pipe2(gate, O_CLOEXEC))
		return;
	pid_t child = fork();
	if (!child) {
		int ret = unshare(CLONE_NEWUSER);

		(void)!write(gate[1], ret ? "n" : "y", 1); /* EOF says no too */
		for (;;)
			pause();
	}
	(void)!read(gate[0], pid, 1); /* tried whatever it is */
	snprintf(pid, sizeof(pid), "%d", child);
	snprintf(uid, sizeof(uid), "%u", getuid());
	pid_t helper = fork();
	if (!helper) {
		(void)close(2); /* drop its error message */
		execl("/usr/bin/newuidmap", "newuidmap", pid, "0", uid, "1", NULL);
		_exit(126);
	}
	int status = child_wait(helper);
	trial_says(t, status ? "refused:failed" : "allowed", "exit %d", status);
}

/* H103: tests whether host id 0 is mapped into the sandbox.  A map names only
 * the ids of the namespace above, so the probe looks at a file that host root
 * owns: without a mapping its owner is the overflow id, 65534. */
static void map_holds_root(struct trial *t)
{
	struct stat st;
	char text[256] = "";

	if (stat("/proc/sys/kernel/core_pattern", &st)) {
		trial_file(t, -1);
		return;
	}
	(void)file_read("/proc/self/uid_map", text, sizeof(text)); /* detail only */
	trial_says(t, st.st_uid == 65534 ? "absent" : "allowed", "owner %u, map %.*s",
		   st.st_uid, (int)strcspn(text, "\n"), text);
}

static void key_add(struct trial *t)
{
	trial_call(t, syscall(SYS_add_key, "user", "hutch-probe-own", "x", 1,
			      KEY_SPEC_PROCESS_KEYRING));
}

static void key_request(struct trial *t)
{
	trial_call(t, syscall(SYS_request_key, "user", "hutch-probe-none", NULL,
			      0));
}

static void key_join(struct trial *t)
{
	trial_call(t, syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL));
}

/* Looks for the key that the runner put into its session keyring. */
static void key_of_host(struct trial *t)
{
	trial_call(t, syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING,
			      "user", "hutch-probe-host", 0));
}

static bool is_promised(const char *variable)
{
	static const char *const names[] = {
		"PATH=", "HOME=", "USER=", "LOGNAME=", "SHELL=", "LANG=", "TZ=",
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strncmp(variable, names[i], strlen(names[i])))
			return true;
	return false;
}

static void environment(struct trial *t)
{
	char foreign[160] = "";
	size_t len = 0;

	for (char **at = environ; *at; at++) {
		if (is_promised(*at) || len > sizeof(foreign) - 40)
			continue;
		len += (size_t)snprintf(foreign + len, sizeof(foreign) - len,
					"%.*s ", (int)strcspn(*at, "=") % 32, *at);
	}
	trial_says(t, len ? "allowed" : "absent", "%s", foreign);
}

#define SET(nm, key) { "B34", nm, .run = capability_set, .text = "\n" key ":\t" }

const struct probe rights_probes[] = {
	SET("capabilities-effective", "CapEff"),
	SET("capabilities-permitted", "CapPrm"),
	SET("capabilities-bounding", "CapBnd"),
	SET("capabilities-inheritable", "CapInh"),
	SET("capabilities-ambient", "CapAmb"),
	{ "B34", "inherit-capability", .run = inherit_capability },
	{ "B34", "raise-ambient", .run = ambient_capability },
	{ "B35", "no-new-privs-off", .run = status_of_exec, .value = ROLE_NNP },
	{ "B35", "no-filter", .run = status_of_exec, .value = ROLE_FILTER },
	{ "B46", "setuid-0", .run = set_uid },
	{ "B46", "setgid-0", .run = set_gid },
	{ "B46", "setresuid-0", .run = set_resuid },
	{ "B46", "setgroups", .run = set_groups },
	{ "B46", "write-uid-map", .run = write_map },
	{ "B46", "newuidmap", .run = run_newuidmap },
	{ "B47", "add-key", .run = key_add },
	{ "B47", "request-key", .run = key_request },
	{ "B47", "keyctl-join-session", .run = key_join },
	{ "B47", "key-of-host", .run = key_of_host },
	{ "F86", "environment", .run = environment },
	{ "H103", "map-holds-host-root", .run = map_holds_root },
	{ 0 },
};
