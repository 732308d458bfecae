#include "sandbox/root/root_fuse.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd_pass.h"
#include "base/io.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/own.h"
#include "base/worker.h"
#include "sandbox/kernel/diagnose.h"
#include "sandbox/kernel/idmap.h"
#include "sandbox/kernel/mount_api.h"
#include "sandbox/plan/plan.h"
#include "sandbox/root/root_fuse_server.h"
#include "store/folders.h"
#include "store/links.h"

#define NAME	    "fuse-overlayfs"
#define DEVICE	    "/dev/fuse"
#define VERSION_MAX 4096 /* bytes of fuse-overlayfs' answer to --version */
#define VERSION_MS  5000
#define WORDS_MAX   65536 /* the capacity of the pipe for messages */

#define NAMESPACES (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | \
		    CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)

/* --- which program ---------------------------------------------------------------- */

static char *search(const char *name)
{
	const char *path = getenv("PATH");
	AUTO_FREE char *folders = text_copy(path ? path : "");
	char *rest = folders;

	for (char *folder; (folder = strsep(&rest, ":"));) {
		AUTO_FREE char *file = text_format("%s/%s", folder, name);
		if (*folder == '/' && access(file, X_OK) == 0)
			return text_copy(file);
	}
	return NULL;
}

/* Checks that only root and the caller can write to the program.  Later changes of
 * the file do not matter: program_seal() executes the content that is checked here. */
static int check_owner(const char *path, const struct stat *st, struct err *e)
{
	if (!S_ISREG(st->st_mode))
		return err_set(e, ERR_REFUSED, "%.300s is no file", path);
	if ((st->st_uid == 0 || st->st_uid == geteuid()) && !(st->st_mode & 022))
		return 0;
	(void)err_set(e, ERR_REFUSED,
		      "%.300s can be written by others than root and its caller", path);
	return err_remedy(e, "as root: chown root %.200s && chmod go-w %.200s", path,
			  path);
}

static int open_program(struct program *ret, struct err *e)
{
	AUTO_FREE char *path = search(NAME);
	struct stat st;

	if (!path) {
		(void)err_set(e, ERR_NOT_FOUND, NAME " is not installed");
		return err_remedy(e, "install " NAME
				     ", 1.8 or newer; on Debian, as root: apt "
				     "install " NAME);
	}
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "open %.300s", path);
	if (check_owner(path, &st, e) < 0)
		return -1;
	*ret = (struct program){ .path = path, .fd = fd_take(&fd), .dev = st.st_dev,
				 .ino = st.st_ino };
	path = NULL;
	return 0;
}

static _Noreturn void say_version(const struct program *p, int to)
{
	char name[] = NAME, flag[] = "--version";
	char *argv[] = { name, flag, NULL }, *env[] = { NULL };

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	AUTO_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && null >= 0 &&
	    dup2(null, 0) == 0 && dup2(to, 1) == 1 && dup2(null, 2) == 2)
		(void)syscall(SYS_execveat, p->fd, "", argv, env, AT_EMPTY_PATH);
	_exit(127);
}

/* Reads to the end of the output, but never waits longer than VERSION_MS for
 * more. */
static void read_version(int from, char ret[VERSION_MAX])
{
	struct pollfd p = { .fd = from, .events = POLLIN };
	size_t len = 0;
	ssize_t n = 1;

	while (n > 0 && len < VERSION_MAX - 1 && poll(&p, 1, VERSION_MS) == 1) {
		n = read(from, ret + len, VERSION_MAX - 1 - len);
		len += n > 0 ? (size_t)n : 0;
	}
	ret[len] = '\0';
}

static int ask_version(const struct program *p, char ret[VERSION_MAX], struct err *e)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	AUTO_CLOSE int from = ends[0];
	AUTO_CLOSE int to = ends[1];
	pid_t pid = fork();
	if (pid == 0)
		say_version(p, to);
	own_close(&to);
	if (pid < 0)
		return err_sys(e, "start %s", p->path);
	read_version(from, ret);
	(void)kill(pid, SIGKILL); /* the program is our child and not yet reaped, so
				   * its pid is still its own */
	(void)worker_reap(pid);
	return 0;
}

static int check_version(struct root_fuse_overlayfs *f, struct err *e)
{
	static const char before[] = NAME ": version ";
	char said[VERSION_MAX];

	if (ask_version(&f->program, said, e) < 0)
		return -1;
	const char *at = strstr(said, before);
	if (!at || sscanf(at + strlen(before), "%4u.%4u", &f->major, &f->minor) != 2)
		return err_set(e, ERR_UNSUPPORTED, "%.300s does not tell its version",
			       f->program.path);
	if (f->major == ROOT_FUSE_MAJOR && f->minor >= ROOT_FUSE_MINOR_MIN)
		return 0;
	(void)err_set(e, ERR_UNSUPPORTED, "%.300s is version %u.%u, and not 1.8 to 1.x",
		      f->program.path, f->major, f->minor);
	return err_remedy(e, "install " NAME " 1.8 or newer, but not 2.0");
}

/* --- whether FUSE can be mounted --------------------------------------------------- */

static int mount_one(int *ret_device, struct err *e)
{
	AUTO_CLOSE int device = open(DEVICE, O_RDWR | O_CLOEXEC);

	if (device < 0)
		return err_sys(e, "open " DEVICE);
	AUTO_FREE char *options =
		text_format("source=" NAME ",subtype=" NAME
			    ",fd=%d,rootmode=40000,user_id=%u,group_id=%u,"
			    "default_permissions,allow_other",
			    device, geteuid(), getegid());
	int mount =
		mount_api_make("fuse", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, e);
	if (mount >= 0)
		*ret_device = fd_take(&device);
	return mount;
}

static int try_inside(void *arg, void *result, struct err *e)
{
	const struct idmap *ids = arg;
	int device;

	(void)result;
	return idmap_write_both(&ids[0], &ids[1], e) < 0 || mount_one(&device, e) < 0 ? -1
										      : 0;
}

static int explain_device(struct err *e)
{
	if (e->sys == ENOENT || e->sys == ENODEV || e->sys == ENXIO)
		return err_remedy(
			e, "as root: modprobe fuse, where this kernel has that module; "
			   "in docker: --device " DEVICE);
	if (e->sys == EACCES || e->sys == EPERM)
		return err_remedy(e, "as root: chmod 666 " DEVICE "; in docker: --device "
				     DEVICE);
	return -1;
}

static int try_mount(struct err *e)
{
	struct idmap ids[2] = { { 0, geteuid(), 1 }, { 0, getegid(), 1 } };
	const struct worker_task task = { .name = "a trial of FUSE",
					  .work = try_inside,
					  .arg = ids,
					  .flags = CLONE_NEWUSER | CLONE_NEWNS };
	struct worker w;

	if (worker_start(&task, &w, e) < 0)
		return diagnose_clone(task.flags, e);
	return worker_wait(&w, NULL, e) < 0 ? explain_device(e) : 0;
}

void root_fuse_overlayfs_done(struct root_fuse_overlayfs *f)
{
	program_done(&f->program);
}

int root_fuse_find(struct root_fuse_overlayfs *ret, struct err *e)
{
	struct root_fuse_overlayfs f = { .program.fd = -1 };

	if (open_program(&f.program, e) < 0)
		return -1;
	if (try_mount(e) < 0 || check_version(&f, e) < 0) {
		root_fuse_overlayfs_done(&f);
		return -1;
	}
	*ret = f;
	return 0;
}

bool root_fuse_suits(const struct plan *p)
{
	const char *image = p->steps[0].source;
	size_t len = image ? strlen(image) : 0;

	for (int i = 0; image && i < FOLDER_COUNT; i++) {
		AUTO_FREE char *path = folder_path((enum folder)i);
		AUTO_FREE char *real = path ? links_follow(path, NULL) : NULL;
		if (real && strncmp(real, image, len) == 0 &&
		    (!real[len] || real[len] == '/' || image[len - 1] == '/'))
			return false;
	}
	return true;
}

/* --- one that runs ----------------------------------------------------------------- */

void root_fuse_init(struct root_fuse *f)
{
	*f = (struct root_fuse){ .pidfd = -1, .words = -1, .socket = -1 };
}

void root_fuse_kill(const struct root_fuse *f)
{
	if (f->pid > 0)
		(void)kill(f->pid, SIGKILL); /* the server is our child and not yet
					      * reaped, so its pid is still its own */
}

static int reap(struct root_fuse *f)
{
	const int status = f->pid > 0 ? worker_reap(f->pid) : 0;

	f->pid = 0;
	own_close(&f->pidfd);
	return status;
}

void root_fuse_done(struct root_fuse *f)
{
	root_fuse_kill(f);
	(void)reap(f); /* the exit status is not needed here: root_fuse_has_failed()
			* reports it */
	own_close(&f->words);
	own_close(&f->socket);
}

static int clone_server(const struct plan *p, const struct program *program, int socket,
			int words, struct root_fuse *f, struct err *e)
{
	struct clone_args args = { .flags = NAMESPACES | CLONE_PIDFD,
				   .exit_signal = SIGCHLD,
				   .pidfd = (uintptr_t)&f->pidfd };
	AUTO_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return err_sys(e, "open /dev/null");
	long pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0) {
		own_close(&f->socket); /* this end of the socket is the launcher's; if
					* the server held it, too, it would never see
					* the socket close */
		root_fuse_server_run(&(struct root_fuse_server){ .plan = p,
								 .program = program,
								 .socket = socket,
								 .words = words,
								 .null = null });
	}
	if (pid < 0)
		return diagnose_clone(NAMESPACES, e);
	f->pid = (pid_t)pid;
	return 0;
}

int root_fuse_start(const struct plan *p, const struct program *program,
		    struct root_fuse *ret, struct err *e)
{
	int pair[2], words[2];
	struct root_fuse f;

	root_fuse_init(&f);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(e, "make a pair of sockets");
	f.socket = pair[0];
	AUTO_CLOSE int theirs = pair[1];
	/* The server's messages are read only after its end, so a full pipe must not
	 * block the server. */
	if (pipe2(words, O_CLOEXEC | O_NONBLOCK) < 0) {
		root_fuse_done(&f);
		return err_sys(e, "make a pipe");
	}
	f.words = words[0];
	AUTO_CLOSE int to = words[1];
	if (clone_server(p, program, theirs, to, &f, e) < 0) {
		root_fuse_done(&f);
		return err_in(e, "start %s", program->path);
	}
	*ret = f;
	return 0;
}

int root_fuse_mount(int socket, struct err *e)
{
	int device = -1;
	AUTO_CLOSE int mount = mount_one(&device, e);
	AUTO_CLOSE int held = device; /* the server has got a copy of the descriptor;
				       * this one is closed on return */

	if (mount < 0)
		return -1;
	if (fd_pass_send(socket, "", 1, &held, 1) != 1)
		return err_sys(e, "hand the root to " NAME);
	return fd_take(&mount);
}

/* Returns the last line of the server's messages. */
static char *last_words(int from)
{
	AUTO_FREE char *text = calloc(1, WORDS_MAX + 1);
	ssize_t n = text ? read(from, text, WORDS_MAX) : 0;

	while (n > 0 && text[n - 1] == '\n')
		text[--n] = '\0';
	if (n <= 0)
		return text_copy("");
	char *newline = strrchr(text, '\n');
	return text_copy(newline ? newline + 1 : text);
}

bool root_fuse_has_failed(struct root_fuse *f, struct err *e)
{
	int status = reap(f);
	AUTO_FREE char *words = last_words(f->words);
	const char *colon = *words ? ": " : "";

	if (status == 0)
		return false;
	if (WIFSIGNALED(status))
		(void)err_set(e, ERR_SYSTEM,
			      "fuse-overlayfs, which serves the sandbox's root, "
			      "was ended by signal %d%s%.300s",
			      WTERMSIG(status), colon, words);
	else
		(void)err_set(e, ERR_SYSTEM,
			      "fuse-overlayfs, which serves the sandbox's root, "
			      "ended with code %d%s%.300s",
			      WEXITSTATUS(status), colon, words);
	err_sanitize(e); /* the line may quote names that processes inside chose */
	return true;
}
