/* user, caps: give a command that runs as another user its credentials, here as the
 * kernel reports them.  Without root no range of ids can be mapped, so those tests
 * need root. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "executor/process/terminal.h"
#include "executor/process/user.h"
#include "protocol/message.h"
#include "tests/unit/supervisor.h"

#define BIT(cap) (UINT64_C(1) << (cap))
#define TOOLS	 (BIT(CAP_SETUID) | BIT(CAP_SETGID) | BIT(CAP_KILL))
#define CHOWN	 BIT(CAP_CHOWN)
#define OTHER	 4001

/* The state in which the launcher leaves the executor, and the command's
 * expected state. */
struct row {
	uint32_t uid;		      /* of the executor */
	uint64_t permitted, bounding; /* when the executor starts */
	uint32_t command_uid;
	uint64_t expected;  /* permitted and effective set of the command */
	uint64_t effective; /* the executor's own */
	uint64_t withheld;  /* capabilities that only commands of root get */
};

/* Returns which capabilities must be inheritable and ambient to survive an
 * execve(2): none for root, which gets the bounding set (capabilities(7)). */
static uint64_t inherited(uint32_t uid, uint64_t caps)
{
	return uid == 0 ? 0 : caps;
}

static const struct row rows[] = {
	/* One id is mapped and no capability is given to commands: the default. */
	{ 1000, 0, 0, 1000, 0, 0, 0 },
	/* The only id that is mapped is root, and its commands get some
	 * capabilities. */
	{ 0, CHOWN, CHOWN, 0, CHOWN, 0, 0 },
	{ 0, CHOWN | TOOLS, CHOWN | TOOLS, 0, CHOWN | TOOLS, TOOLS, 0 },
	{ 0, CHOWN | TOOLS, CHOWN | TOOLS, OTHER, CHOWN | TOOLS, TOOLS, 0 },
	/* A range of ids is mapped: the executor has its own id and its own
	 * capabilities. */
	{ 65536, TOOLS, 0, OTHER, 0, TOOLS, 0 },
	{ 65536, TOOLS, 0, 0, 0, TOOLS, 0 },
	{ 65536, TOOLS | CHOWN, CHOWN, OTHER, CHOWN, TOOLS, 0 },
	{ 65536, TOOLS | CHOWN, CHOWN, 0, CHOWN, TOOLS, 0 },
	{ 65536, TOOLS | CHOWN, CHOWN, 65536, CHOWN, TOOLS, 0 },
	/* The executor keeps a capability that it gives to commands. */
	{ 65536, TOOLS | CHOWN, CHOWN | BIT(CAP_SETUID), OTHER, CHOWN | BIT(CAP_SETUID),
	  TOOLS, 0 },
	/* Commands of users other than root get fewer capabilities. */
	{ 65536, TOOLS | CHOWN, CHOWN, OTHER, 0, TOOLS, CHOWN },
	{ 65536, TOOLS | CHOWN, CHOWN, 0, CHOWN, TOOLS, CHOWN },
	{ 65536, TOOLS | CHOWN, CHOWN | BIT(CAP_SETUID), OTHER, CHOWN, TOOLS,
	  BIT(CAP_SETUID) },
};

static int set_caps(uint64_t effective, uint64_t permitted, uint64_t inheritable)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = {
		{ (uint32_t)effective, (uint32_t)permitted, (uint32_t)inheritable },
		{ (uint32_t)(effective >> 32), (uint32_t)(permitted >> 32),
		  (uint32_t)(inheritable >> 32) },
	};

	return (int)syscall(SYS_capset, &header, data);
}

static int set_inheritable(uint64_t caps)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data) < 0)
		return -1;
	data[0].inheritable = (uint32_t)caps;
	data[1].inheritable = (uint32_t)(caps >> 32);
	return (int)syscall(SYS_capset, &header, data);
}

/* Gives this process the user, groups and capabilities that the launcher gives the
 * executor; execve(2) would change the capabilities in the same way. */
static int become_executor(const struct row *row)
{
	static const gid_t groups[] = { 4242 };
	uint64_t through_execve = inherited(row->uid, row->permitted);
	int failed = setgroups(1, groups);

	/* First, since a capability that has left the bounding set cannot be
	 * made inheritable any more. */
	failed |= set_inheritable(through_execve);
	for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap) >= 0; cap++)
		if (!(row->bounding & BIT(cap)))
			failed |= prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	failed |= prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
	failed |= setresgid(row->uid, row->uid, row->uid);
	failed |= setresuid(row->uid, row->uid, row->uid);
	failed |= set_caps(row->permitted, row->permitted, through_execve);
	for (unsigned long cap = 0; cap < 64; cap++)
		if (through_execve & BIT(cap))
			failed |= prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0);
	failed |= prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0);
	failed |= prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return failed;
}

/* Prints the lines about ids, groups and capabilities of this process's status. */
static void print_status(void)
{
	char line[256];
	FILE *f = fopen("/proc/self/status", "re");

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, "Cap", 3) == 0 || strncmp(line, "Uid", 3) == 0 ||
		    strncmp(line, "Gid", 3) == 0 || strncmp(line, "Groups", 6) == 0)
			(void)fputs(line, stdout);
	(void)fflush(stdout);
}

/* Only commands of user OTHER ask for supplementary groups. */
static uint32_t group_count(const struct row *row)
{
	return row->command_uid == OTHER ? 2 : 0;
}

/* Runs in a child of the test, which plays the executor and then the executor's
 * child. */
static _Noreturn void play(const struct row *row, int out)
{
	char *argv[] = { (char *)"grep", (char *)"-E", (char *)"^(Cap|[UG]id|Groups)",
			 (char *)"/proc/self/status", NULL };
	struct exec x = { .uid = row->command_uid, .gid = row->command_uid,
			  .group_count = group_count(row), .groups = { 44, 45 } };
	struct user user;

	(void)dup2(out, 1);
	if (become_executor(row) || user_init(&user) < 0)
		_exit(10);
	user.caps.others &= ~row->withheld;
	print_status();
	if (user_become(&user, &x) < 0)
		_exit(11);
	(void)execv("/bin/grep", argv);
	_exit(12);
}

static void expect_line(char **at, const char *name, uint64_t value)
{
	char line[64];

	(void)snprintf(line, sizeof(line), "%s:\t%016llx\n", name,
		       (unsigned long long)value);
	if (strncmp(*at, line, strlen(line)) != 0)
		fail_msg("%.*s instead of %s", (int)strcspn(*at, "\n"), *at, line);
	*at += strlen(line);
}

static void expect_ids(char **at, uint32_t id, const char *groups)
{
	char lines[256];

	(void)snprintf(lines, sizeof(lines),
		       "Uid:\t%u\t%u\t%u\t%u\nGid:\t%u\t%u\t%u\t%u\nGroups:\t%s \n",
		       id, id, id, id, id, id, id, id, groups);
	if (strncmp(*at, lines, strlen(lines)) != 0)
		fail_msg("%.100s instead of %s", *at, lines);
	*at += strlen(lines);
}

static void expect_row(const struct row *row)
{
	uint64_t handed_on = row->permitted & row->bounding;
	bool is_self = row->command_uid == row->uid;
	int out[2], status;

	make_pipe(out);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		play(row, out[1]);
	(void)close(out[1]);
	AUTO_FREE char *got = read_all(out[0]);
	(void)close(out[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);

	char *at = got;
	expect_ids(&at, row->uid, "4242");
	expect_line(&at, "CapInh", inherited(row->uid, handed_on));
	expect_line(&at, "CapPrm", row->permitted);
	expect_line(&at, "CapEff", row->effective);
	expect_line(&at, "CapBnd", row->bounding);
	expect_line(&at, "CapAmb", inherited(row->uid, handed_on));
	expect_ids(&at, row->command_uid,
		   is_self	      ? "4242"
		   : group_count(row) ? "44 45"
				      : "");
	expect_line(&at, "CapInh", inherited(row->command_uid, row->expected));
	expect_line(&at, "CapPrm", row->expected);
	expect_line(&at, "CapEff", row->expected);
	expect_line(&at, "CapBnd", row->bounding);
	expect_line(&at, "CapAmb", inherited(row->command_uid, row->expected));
	assert_string_equal(at, "");
}

/* True for root, except in a user namespace with few ids. */
static bool can_be_others(void)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(setgroups(0, NULL) < 0 || setresgid(65536, 65536, 65536) < 0 ||
		      setresuid(65536, 65536, 65536) < 0);
	return waitpid(pid, &status, 0) == pid && status == 0;
}

static void test_a_command_has_exactly_what_is_handed_on(void **state)
{
	(void)state;
	if (!can_be_others())
		skip();
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		expect_row(&rows[i]);
}

static void test_without_capabilities_nothing_is_done(void **state)
{
	struct user user;
	struct exec self = { .uid = getuid(), .gid = getgid() };
	struct exec other = { .uid = getuid() + 1, .gid = getgid() };

	(void)state;
	if (getuid() == 0)
		skip();
	assert_int_equal(user_init(&user), 0);
	assert_int_equal(user.uid, getuid());
	assert_int_equal(user.gid, getgid());
	assert_int_equal(user.caps.permitted, 0);
	assert_true(caps_are_plain(&user.caps));
	assert_int_equal(user_become(&user, &self), 0);
	assert_int_equal(user_become(&user, &other), -1);
	/* EINVAL: the id is not mapped in this user namespace. */
	assert_true(errno == EPERM || errno == EINVAL);
}

/* Runs in a child of the test, which plays the executor.  Returns the number of the
 * check that failed, as exit code. */
static int open_for_other(void)
{
	static const struct row row = { 65536, TOOLS, 0, OTHER, 0, 0, 0 };
	struct exec x = { .uid = OTHER, .gid = OTHER, .rows = 2, .cols = 3 };
	struct terminal t;
	struct user user;
	char path[32];
	int signo = 0;

	if (become_executor(&row) || user_init(&user) < 0)
		return 1;
	if (prctl(PR_SET_DUMPABLE, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return 2;
	if (user_open_terminal(&user, &x, &t) < 0)
		return 3;
	if (prctl(PR_GET_DUMPABLE) != 0 || geteuid() != 65536)
		return 4;
	if (prctl(PR_GET_PDEATHSIG, &signo) < 0 || signo != SIGKILL)
		return 5;
	if (ttyname_r(t.slave, path, sizeof(path)) || user_become(&user, &x) < 0)
		return 6;
	if (prctl(PR_GET_DUMPABLE) != 0)
		return 7;
	return open(path, O_RDWR | O_NOCTTY | O_CLOEXEC) < 0 ? 8 : 0;
}

static void test_a_terminal_belongs_to_the_command_s_user(void **state)
{
	(void)state;
	if (!can_be_others())
		skip();
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(open_for_other());
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_command_has_exactly_what_is_handed_on),
		cmocka_unit_test(test_without_capabilities_nothing_is_done),
		cmocka_unit_test(test_a_terminal_belongs_to_the_command_s_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
