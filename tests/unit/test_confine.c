/* confine: each case runs in a child, since privileges are given up for ever.  The
 * same attempts are made before and after: all of them work before. */
#include "supervisor/confine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "base/err.h"
#include "base/list.h"
#include "sandbox/cgroup/cgroup.h"
#include "sandbox/kernel/landlock.h"
#include "sandbox/state/registry.h"
#include "supervisor/peer.h"
#include "tests/unit/scene.h"

/* A supervisor's surroundings: its own registry entry and another one, a child and a
 * server and the network's three that it may kill, and a process that it must not reach. */
struct place {
	struct registry_entry mine, other;
	pid_t child, stranger, server, gate, egress, peers;
	struct cgroup cgroup;
	int listener; /* listening unix socket at "door", or -1 */
	bool has_landlock;
	struct peer_self self;
};

/* Returns whether the supervisor can tell peers on the host from processes in its
 * sandbox, and stores whether Landlock is available. */
static bool can_tell(bool *ret_has_landlock, bool reads_memory)
{
	struct peer_self self;

	peer_self_init(&self);
	*ret_has_landlock = confine_has_landlock(&self, reads_memory);
	bool result = self.can_tell;
	peer_self_done(&self);
	return result;
}

static bool may_use_landlock(void)
{
	bool result;

	(void)can_tell(&result, false);
	return result;
}

static pid_t make_idle(void)
{
	pid_t parent = getpid(), pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (getppid() == parent)
			(void)pause();
		_exit(0);
	}
	return pid;
}

/* Makes the surroundings in `folder`, which becomes the working directory and
 * contains the state folder. */
static void place_make(struct place *p, const char *folder)
{
	AUTO_FREE char *run = text_format("%s/run", folder);
	struct err e;

	CHECK(chdir(folder) == 0 && mkdir(run, 0700) == 0);
	CHECK(setenv("XDG_RUNTIME_DIR", run, 1) == 0);
	CHECK(registry_create("mine", &p->mine, &e) == 0);
	CHECK(registry_create("other", &p->other, &e) == 0);
	CHECK(registry_set_info(&p->other, "{}", &e) == 0);
	p->child = make_idle();
	p->stranger = make_idle();
	p->server = make_idle();
	p->gate = make_idle();
	p->egress = make_idle();
	p->peers = make_idle();
	p->listener = -1;
	cgroup_init(&p->cgroup);
	peer_self_init(&p->self);
	CHECK(open("secret", O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0);
}

static void place_enter(const struct place *p)
{
	const int keep[] = { p->cgroup.parent.fd, p->listener,	 p->mine.lock,
			     p->mine.state,	  p->mine.alive, p->mine.folder };
	const struct confine c = { .has_landlock = p->has_landlock,
				   .child = p->child,
				   .server = p->server,
				   .gate = p->gate,
				   .egress = p->egress,
				   .peers = p->peers,
				   .entry = &p->mine,
				   .cgroup = &p->cgroup,
				   .keep = keep,
				   .keep_count = ARRAY_LEN(keep) };
	struct err e = { 0 };

	if (confine_enter(&c, &e) < 0) {
		(void)dprintf(2, "%s\n", e.text);
		_exit(1);
	}
}

static void place_leave(const struct place *p)
{
	(void)kill(p->child, SIGKILL);
	(void)wait4(p->child, NULL, 0, NULL);
}

/* --- what is refused ------------------------------------------------------------ */

static int touch(const char *path, int flags)
{
	AUTO_CLOSE int fd = open(path, flags | O_CLOEXEC, 0600);

	return fd < 0 ? -1 : 0;
}

static int read_secret(const struct place *p)
{
	(void)p;
	return touch("secret", O_RDONLY);
}

static int write_secret(const struct place *p)
{
	(void)p;
	return touch("secret", O_WRONLY);
}

static int make_file(const struct place *p)
{
	(void)p;
	return touch("new", O_WRONLY | O_CREAT);
}

static int list_here(const struct place *p)
{
	(void)p;
	return touch(".", O_RDONLY | O_DIRECTORY);
}

static int read_other(const struct place *p)
{
	(void)p;
	return touch("run/hutch/other/info", O_RDONLY);
}

static int write_other(const struct place *p)
{
	(void)p;
	return touch("run/hutch/other/info", O_WRONLY);
}

static int write_proc(const struct place *p)
{
	(void)p;
	return touch("/proc/self/comm", O_WRONLY);
}

static int remove_here(const struct place *p)
{
	(void)p;
	return unlinkat(AT_FDCWD, "link", 0);
}

static int make_socket(const struct place *p)
{
	(void)p;
	return socket(AF_INET, SOCK_STREAM, 0);
}

static int make_unix(const struct place *p)
{
	(void)p;
	return socket(AF_UNIX, SOCK_STREAM, 0);
}

static int map_code(const struct place *p)
{
	const int prot = PROT_READ | PROT_EXEC;
	void *page = mmap(NULL, 4096, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)p;
	return page == MAP_FAILED ? -1 : 0;
}

static int make_code(const struct place *p)
{
	void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)p;
	return mprotect(page, 4096, PROT_READ | PROT_EXEC);
}

static int signal_stranger(const struct place *p)
{
	return kill(p->stranger, 0);
}

static int signal_group(const struct place *p)
{
	(void)p;
	return kill(0, 0);
}

static int signal_thread(const struct place *p)
{
	return (int)syscall(SYS_tgkill, p->stranger, p->stranger, 0);
}

static int set_owner(const struct place *p)
{
	return fcntl(p->mine.lock, F_SETOWN, p->stranger);
}

static int trace(const struct place *p)
{
	return (int)ptrace(PTRACE_SEIZE, p->child, NULL, NULL);
}

static int change_mode(const struct place *p)
{
	(void)p;
	return chmod("secret", 0644);
}

static int link_secret(const struct place *p)
{
	(void)p;
	return symlink("secret", "link");
}

static int fork_one(const struct place *p)
{
	pid_t pid = fork();

	(void)p;
	if (pid == 0)
		_exit(0);
	return pid < 0 ? -1 : 0;
}

static int unshare_user(const struct place *p)
{
	(void)p;
	return unshare(0);
}

static int ask_prctl(const struct place *p)
{
	(void)p;
	return prctl(PR_GET_DUMPABLE);
}

static int execute(const struct place *p)
{
	(void)p;
	(void)execl("/bin/true", "true", NULL);
	return -1;
}

/* The order matters: the attempt link_secret makes the file that remove_here
 * removes. */
static const struct attempt {
	const char *what;
	int (*make)(const struct place *p);
	int refusal;
	bool is_landlocks; /* refused by Landlock alone */
} attempts[] = {
	{ "read a file of the user's", read_secret, EACCES, true },
	{ "write one", write_secret, EACCES, true },
	{ "make one", make_file, EACCES, true },
	{ "list a folder", list_here, EACCES, true },
	{ "read another sandbox's info", read_other, EACCES, true },
	{ "write it", write_other, EACCES, true },
	{ "write in /proc", write_proc, EACCES, true },
	{ "make a link", link_secret, ENOSYS, false },
	{ "remove a file", remove_here, EACCES, true },
	{ "change a mode", change_mode, ENOSYS, false },
	{ "a TCP socket", make_socket, ENOSYS, false },
	{ "a unix socket", make_unix, ENOSYS, false },
	{ "memory to execute", map_code, ENOSYS, false },
	{ "memory made executable", make_code, ENOSYS, false },
	{ "signal another process", signal_stranger, EPERM, false },
	{ "signal the group", signal_group, EPERM, false },
	{ "signal a thread of another", signal_thread, EPERM, false },
	{ "SIGIO for another", set_owner, ENOSYS, false },
	{ "trace the child", trace, ENOSYS, false },
	{ "fork", fork_one, ENOSYS, false },
	{ "unshare", unshare_user, ENOSYS, false },
	{ "prctl", ask_prctl, ENOSYS, false },
};

static void check_one(const struct place *p, const struct attempt *a, bool is_confined)
{
	bool has_wall = is_confined && (p->has_landlock || !a->is_landlocks);
	int result = a->make(p), sys = errno;

	if (has_wall ? result < 0 && sys == a->refusal : result >= 0)
		return;
	(void)dprintf(2, "%s, %s: %d, %s\n", a->what, is_confined ? "confined" : "free",
		      result, strerror(sys));
	_exit(1);
}

static void try_all(const struct place *p, bool is_confined)
{
	for (size_t i = 0; i < ARRAY_LEN(attempts); i++)
		check_one(p, &attempts[i], is_confined);
}

static void play_refused(void *arg)
{
	struct place *p = arg;

	try_all(p, false);
	/* The attempt remove_here needs this file. */
	CHECK(symlink("secret", "link") == 0);
	CHECK(ptrace(PTRACE_DETACH, p->child, NULL, NULL) == 0 || errno == ESRCH);
	place_enter(p);
	try_all(p, true);
	CHECK(execute(p) < 0 && errno == ENOSYS);
	CHECK(kill(p->server, 0) == 0);
	CHECK(kill(p->gate, 0) == 0 && kill(p->egress, 0) == 0);
	CHECK(kill(p->peers, 0) == 0);
	(void)kill(p->child, SIGKILL);
}

/* The parent kills the processes that the confined child can no longer kill. */
struct scene {
	const char *folder;
	bool has_landlock;
	void (*play)(void *arg);
};

static void play_in_place(void *arg)
{
	const struct scene *s = arg;
	struct place p = { .has_landlock = s->has_landlock };

	place_make(&p, s->folder);
	CHECK(prctl(PR_SET_DUMPABLE, 1) == 0);
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		p.child = make_idle();
		s->play(&p);
		_exit(0);
	}
	int code = scene_child_code(pid);
	(void)kill(p.stranger, SIGKILL);
	(void)kill(p.server, SIGKILL);
	(void)kill(p.gate, SIGKILL);
	(void)kill(p.egress, SIGKILL);
	(void)kill(p.peers, SIGKILL);
	(void)kill(p.child, SIGKILL);
	_exit(code);
}

static void run(void **state, bool has_landlock, void (*play)(void *arg))
{
	struct scene s = { *state, has_landlock, play };

	if (has_landlock && !may_use_landlock()) {
		print_message("skipped: no Landlock that could be used here\n");
		skip();
	}
	scene_child(play_in_place, &s);
}

static void test_calls_that_a_supervisor_does_not_need_are_refused(void **state)
{
	run(state, true, play_refused);
}

static void test_so_it_is_without_landlock_but_for_files(void **state)
{
	run(state, false, play_refused);
}

/* --- what goes on --------------------------------------------------------------- */

/* Calls of musl, with which the product is linked and this test is not: its
 * malloc maps pages without access and opens them by mprotect(2). musl takes
 * ENOSYS there for success, so a refusal would show only at the first write. */
static void play_another_libc(void)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	char *page = mmap(NULL, 4096, PROT_NONE, flags, -1, 0);

	CHECK(page != MAP_FAILED && mprotect(page, 4096, PROT_READ | PROT_WRITE) == 0);
	*page = 'x';
	CHECK(munmap(page, 4096) == 0);
#ifdef SYS_open
	struct stat st;
	CHECK(syscall(SYS_stat, "/dev/null", &st) == 0);
	CHECK(syscall(SYS_lstat, "/dev/null", &st) == 0);
	CHECK(close((int)syscall(SYS_open, "/dev/null", O_RDONLY)) == 0);
#endif
	CHECK(syscall(SYS_tkill, getpid(), 0) == 0);
}

static void play_allowed(void *arg)
{
	struct place *p = arg;
	struct err e = { 0 };

	place_enter(p);
	CHECK(registry_set_status(&p->mine, REGISTRY_READY, &e) == 0);
	CHECK(registry_rename(&p->mine, "other", &e) < 0 && e.kind == ERR_EXISTS);
	CHECK(registry_rename(&p->mine, "renamed", &e) == 0);
	CHECK(registry_set_info(&p->mine, "{\"name\":\"renamed\"}", &e) == 0);
	CHECK(touch("/dev/null", O_RDWR) == 0);
	CHECK(touch("/proc/self/status", O_RDONLY) == 0);
	play_another_libc();
	CHECK(kill(p->child, SIGKILL) == 0 && wait4(p->child, NULL, 0, NULL) == p->child);
	CHECK(registry_end(&p->mine, "{\"reason\":\"stopped\"}", REGISTRY_KEEP, &e) == 0);
}

static void check_kept(void **state)
{
	AUTO_FREE char *run_folder = scene_path(state, "run");
	struct registry_item item;
	struct err e;

	assert_int_equal(setenv("XDG_RUNTIME_DIR", run_folder, 1), 0);
	assert_int_equal(registry_find_ended("renamed", &item, &e), 0);
	assert_string_equal(item.record, "{\"reason\":\"stopped\"}");
	registry_item_done(&item);
}

static void test_the_work_of_a_supervisor_goes_on(void **state)
{
	run(state, true, play_allowed);
	check_kept(state);
}

static void test_the_work_of_a_supervisor_goes_on_without_landlock(void **state)
{
	run(state, false, play_allowed);
	check_kept(state);
}

/* A confined supervisor may still prune: when one more sandbox ends, the oldest kept
 * record is removed. */
static void play_pruned(void *arg)
{
	struct place *p = arg;
	struct err e = { 0 };

	for (int i = 0; i < REGISTRY_ENDED_MAX; i++) {
		struct registry_entry r;
		CHECK(registry_create("old", &r, &e) == 0);
		CHECK(registry_end(&r, "{\"reason\":\"old\"}", REGISTRY_KEEP, &e) == 0);
		registry_done(&r);
	}
	place_enter(p);
	CHECK(registry_end(&p->mine, "{\"reason\":\"stopped\"}", REGISTRY_KEEP, &e) == 0);
	place_leave(p);
}

static void test_old_records_are_removed(void **state)
{
	AUTO_FREE char *path = scene_path(state, "run/hutch/.ended");
	unsigned count = 0;

	run(state, true, play_pruned);
	DIR *dir = opendir(path);
	assert_non_null(dir);
	while (readdir(dir))
		count++;
	(void)closedir(dir);
	assert_int_equal(count, REGISTRY_ENDED_MAX + 2); /* "." and ".." */
}

/* The Landlock rules go by path, so ordinary folders can play a delegated
 * cgroup with our own cgroup and another's in it.  The kernel's own rules are
 * tested in the vm tier. */
static void make_cgroups(struct place *p)
{
	static const char *const files[] = {
		"cgroup.procs",	   "cgroup.subtree_control", "memory.max",
		"box/cgroup.kill", "box/cmds/cgroup.freeze", "theirs/cgroup.kill"
	};

	CHECK(mkdir("group", 0700) == 0 && chdir("group") == 0 &&
	      mkdir("box", 0700) == 0);
	CHECK(mkdir("box/cmds", 0700) == 0 && mkdir("box/exec", 0700) == 0);
	CHECK(mkdir("theirs", 0700) == 0 && mkdir("sup", 0700) == 0);
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		CHECK(touch(files[i], O_WRONLY | O_CREAT) == 0);
	p->cgroup.parent.path = text_copy("group");
	p->cgroup.parent.is_own = true;
	p->cgroup.parent.fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	(void)snprintf(p->cgroup.name, sizeof(p->cgroup.name), "box");
}

static void play_cgroup(void *arg)
{
	struct place *p = arg;

	make_cgroups(p);
	place_enter(p);
	CHECK(touch(".", O_RDONLY | O_DIRECTORY) == 0 &&
	      touch("memory.max", O_RDONLY) == 0);
	CHECK(touch("box/cgroup.kill", O_WRONLY) == 0);
	CHECK(touch("box/cmds/cgroup.freeze", O_RDWR) == 0);
	CHECK(touch("cgroup.procs", O_WRONLY) == 0);
	CHECK(touch("cgroup.subtree_control", O_RDWR) == 0);
	CHECK(unlinkat(AT_FDCWD, "box/exec", AT_REMOVEDIR) == 0);
	CHECK(unlinkat(AT_FDCWD, "sup", AT_REMOVEDIR) == 0);
	CHECK(touch("memory.max", O_WRONLY) < 0 && errno == EACCES);
	CHECK(touch("theirs/cgroup.kill", O_WRONLY) < 0 && errno == EACCES);
	(void)kill(p->child, SIGKILL);
}

static void test_a_supervisor_reaches_its_own_cgroup_alone(void **state)
{
	run(state, true, play_cgroup);
}

/* In a parent cgroup in which it did not live itself, the supervisor may only enable
 * controllers, which a later limit may need. It may not write to cgroup.procs: it
 * never has to move back there. */
static void play_cgroup_of_others(void *arg)
{
	struct place *p = arg;

	make_cgroups(p);
	p->cgroup.parent.is_own = false;
	place_enter(p);
	CHECK(touch("cgroup.subtree_control", O_WRONLY) == 0);
	CHECK(touch("box/cmds/cgroup.freeze", O_WRONLY) == 0);
	CHECK(touch("cgroup.procs", O_WRONLY) < 0 && errno == EACCES);
	CHECK(touch("memory.max", O_WRONLY) < 0 && errno == EACCES);
	CHECK(touch("theirs/cgroup.kill", O_WRONLY) < 0 && errno == EACCES);
	(void)kill(p->child, SIGKILL);
}

static void test_above_its_cgroup_it_can_ask_for_controllers_alone(void **state)
{
	run(state, true, play_cgroup_of_others);
}

/* --- descriptors and privileges -------------------------------------------------- */

static void play_closed(void *arg)
{
	struct place *p = arg;
	int low = open("secret", O_RDONLY | O_CLOEXEC);
	int high = fcntl(low, F_DUPFD_CLOEXEC, 900);

	CHECK(low >= 0 && high >= 900);
	place_enter(p);
	CHECK(fcntl(low, F_GETFD) < 0 && fcntl(high, F_GETFD) < 0);
	CHECK(fcntl(p->other.folder, F_GETFD) < 0);
	CHECK(fcntl(p->mine.folder, F_GETFD) >= 0 && fcntl(p->mine.lock, F_GETFD) >= 0);
	/* 0, 1, 2; four of the registry entry; the one with which scene_open_fds()
	 * counts, and the names "." and "..". */
	CHECK(scene_open_fds() == 3 + 4 + 1 + 2);
	(void)kill(p->child, SIGKILL);
}

static void test_the_descriptors_to_keep_stay_open(void **state)
{
	run(state, true, play_closed);
}

static void play_privileges(void *arg)
{
	static const char *const claims[] = {
		"\nCapInh:\t0000000000000000\n", "\nCapPrm:\t0000000000000000\n",
		"\nCapEff:\t0000000000000000\n", "\nCapAmb:\t0000000000000000\n",
		"\nNoNewPrivs:\t1\n", "\nSeccomp:\t2\n",
	};
	static char text[8192];
	struct place p = { .has_landlock = may_use_landlock() };

	place_make(&p, arg);
	place_enter(&p);
	AUTO_CLOSE int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	CHECK(read(fd, text, sizeof(text) - 1) > 0);
	for (size_t i = 0; i < ARRAY_LEN(claims); i++)
		CHECK(strstr(text, claims[i]));
	place_leave(&p);
}

/* Runs in a user namespace of its own, in which the process has all capabilities. */
static void test_a_confined_supervisor_has_no_capability(void **state)
{
	scene_inside(0, 0, play_privileges, *state);
}

/* --- peers ------------------------------------------------------------------------ */

static struct sockaddr_un door(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	(void)snprintf(at.sun_path, sizeof(at.sun_path), "door");
	return at;
}

static void listen_at_door(struct place *p)
{
	const struct sockaddr_un at = door();

	p->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(bind(p->listener, (const struct sockaddr *)&at, sizeof(at)) == 0 &&
	      listen(p->listener, 4) == 0);
}

/* Forks a process that connects to the socket "door" and stays until it is told to
 * end. */
static pid_t make_peer(bool is_inside)
{
	const struct sockaddr_un at = door();
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid != 0)
		return pid;
	if (is_inside)
		scene_enter(0, 1000);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(connect(fd, (const struct sockaddr *)&at, sizeof(at)) == 0);
	(void)scene_readable(fd, SCENE_SECONDS * 1000);
	_exit(0);
}

static int check_next(const struct place *p, struct err *e)
{
	AUTO_CLOSE int fd = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);

	CHECK(fd >= 0);
	return peer_check(&p->self, fd, e);
}

static void wait_for_peer(const struct place *p)
{
	CHECK(scene_readable(p->listener, SCENE_SECONDS * 1000));
}

static void play_peers(void *arg)
{
	struct place *p = arg;
	struct err e = { 0 };

	listen_at_door(p);
	(void)make_peer(false);
	wait_for_peer(p);
	place_enter(p);
	CHECK(check_next(p, &e) == 0);
	(void)kill(p->child, SIGKILL);
}

static void play_inside(void *arg)
{
	struct place *p = arg;
	struct err e = { 0 };

	listen_at_door(p);
	(void)make_peer(true);
	wait_for_peer(p);
	place_enter(p);
	CHECK(check_next(p, &e) < 0 && e.kind == ERR_REFUSED);
	(void)kill(p->child, SIGKILL);
}

/* Returns whether this process can make namespaces.  It cannot inside a sandbox of
 * hutch. */
static bool can_make_namespaces(void)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(unshare(CLONE_NEWUSER) < 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status == 0;
}

static void test_a_peer_of_ours_is_known(void **state)
{
	run(state, true, play_peers);
}

static void test_a_peer_of_ours_is_known_without_landlock(void **state)
{
	run(state, false, play_peers);
}

static void test_a_process_inside_is_refused(void **state)
{
	if (!can_make_namespaces())
		skip();
	run(state, true, play_inside);
}

static void test_a_process_inside_is_refused_without_landlock(void **state)
{
	if (!can_make_namespaces())
		skip();
	run(state, false, play_inside);
}

static void play_tells(void *arg)
{
	bool has_landlock;

	(void)arg;
	CHECK(can_tell(&has_landlock, false));
}

/* In a user namespace that maps one id to itself, a child may have the same id map:
 * then peers on the host and inside cannot be told apart. */
static void play_cannot_tell(void *arg)
{
	bool has_landlock;

	(void)arg;
	CHECK(!can_tell(&has_landlock, false) && !has_landlock);
}

static void test_an_outer_sandbox_may_look_like_an_inner_one(void **state)
{
	(void)state;
	scene_inside(0, geteuid() + 1, play_tells, NULL);
	scene_inside(0, geteuid(), play_cannot_tell, NULL);
}

/* A procfs of another pid namespace, as an outer container may have it. */
static void play_hidden(void *arg)
{
	(void)arg;
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid > 0)
		_exit(scene_child_code(pid));
	if (mount("proc", "/proc", "proc", 0, "hidepid=2") < 0)
		_exit(SCENE_NO_NAMESPACES);
	bool has_landlock;
	CHECK(can_tell(&has_landlock, false) && !has_landlock);
	_exit(0);
}

static void test_where_processes_are_hidden_no_domain_is_entered(void **state)
{
	(void)state;
	scene_inside(CLONE_NEWNS | CLONE_NEWPID, geteuid() + 1, play_hidden, NULL);
}

static void test_memory_cannot_be_looked_at_from_a_domain(void **state)
{
	(void)state;
	bool has_landlock;

	(void)can_tell(&has_landlock, true);
	assert_false(has_landlock);
	assert_string_equal(confine_name(true), "landlock+seccomp");
	assert_string_equal(confine_name(false), "seccomp");
}

#define IN_A_FOLDER(test) \
	cmocka_unit_test_setup_teardown(test, scene_setup, scene_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_A_FOLDER(test_calls_that_a_supervisor_does_not_need_are_refused),
		IN_A_FOLDER(test_so_it_is_without_landlock_but_for_files),
		IN_A_FOLDER(test_the_work_of_a_supervisor_goes_on),
		IN_A_FOLDER(test_the_work_of_a_supervisor_goes_on_without_landlock),
		IN_A_FOLDER(test_old_records_are_removed),
		IN_A_FOLDER(test_a_supervisor_reaches_its_own_cgroup_alone),
		IN_A_FOLDER(test_above_its_cgroup_it_can_ask_for_controllers_alone),
		IN_A_FOLDER(test_the_descriptors_to_keep_stay_open),
		IN_A_FOLDER(test_a_confined_supervisor_has_no_capability),
		IN_A_FOLDER(test_a_peer_of_ours_is_known),
		IN_A_FOLDER(test_a_peer_of_ours_is_known_without_landlock),
		IN_A_FOLDER(test_a_process_inside_is_refused),
		IN_A_FOLDER(test_a_process_inside_is_refused_without_landlock),
		cmocka_unit_test(test_an_outer_sandbox_may_look_like_an_inner_one),
		cmocka_unit_test(test_where_processes_are_hidden_no_domain_is_entered),
		cmocka_unit_test(test_memory_cannot_be_looked_at_from_a_domain),
	};

	scene_leave_root();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
