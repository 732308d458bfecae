#include "base/worker.h"
#include "sandbox/explain/probes.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "sandbox/explain/checks.h"
#include "sandbox/kernel/diagnose.h"
#include "sandbox/kernel/host_user.h"
#include "sandbox/kernel/idmap.h"
#include "sandbox/plan/plan.h"
#include "store/folders.h"

/* The remedy for a user without a systemd session: commands that make a
 * runtime folder. */
#define OWN_FOLDER "mkdir -p -m 700 ~/.run && export XDG_RUNTIME_DIR=~/.run"

struct maps {
	int ready, go;
};

/* Runs in a user namespace: waits for the id maps, then becomes an id that is only
 * mapped if the subordinate id ranges work. */
static int use_id(void *arg, void *result, struct err *e)
{
	struct maps *m = arg;

	(void)result;
	if (idmaps_await(m->ready, &m->go, e) < 0)
		return -1;
	if (setresgid(EXECUTOR_ID, EXECUTOR_ID, EXECUTOR_ID) == 0 &&
	    setresuid(EXECUTOR_ID, EXECUTOR_ID, EXECUTOR_ID) == 0)
		return 0;
	return err_sys(e, "become an id of the range");
}

static int install(const struct plan *p, pid_t pid, int go, struct err *e)
{
	if (idmaps_write(&p->ids, pid, e) < 0)
		return -1;
	return io_write_all(go, "", 1) < 0 ? err_sys(e, "let a trial go on") : 0;
}

static int use_ranges(struct trial *t, const struct plan *p)
{
	int ends[2];
	struct worker w;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(&t->e, "make a pipe");
	AUTO_CLOSE int ready = ends[0];
	AUTO_CLOSE int go = ends[1];
	struct maps maps = { ready, go };
	const struct worker_task task = { .name = "a trial", .work = use_id, .arg = &maps,
					  .has_all_fds = true, .flags = CLONE_NEWUSER };
	if (worker_start(&task, &w, &t->e) < 0)
		return diagnose_clone(task.flags, &t->e);
	if (install(p, w.pid, go, &t->e) == 0)
		return worker_wait(&w, NULL, &t->e);
	worker_end(&w);
	return -1;
}

void probe_id_ranges(struct trial *t)
{
	struct plan p;

	plan_init(&p);
	if (plan_ranges(&p, t->user, &t->e) < 0 || use_ranges(t, &p) < 0)
		trial_failed(t);
	else
		trial_found(t, CHECK_OK,
			    "65536 ids from %u on, by newuidmap and newgidmap",
			    p.ids.uids[0].outside);
	plan_done(&p);
}

/* Returns 0 if a file can be made in `folder`.  The file has no name
 * (O_TMPFILE), so that nothing is left behind.  On a file system that has no
 * such files, the answer of access(2) about the folder has to do. */
static int try_to_write(const char *folder)
{
	AUTO_CLOSE int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0)
		return 0;
	return errno == EOPNOTSUPP ? faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS)
				   : -1;
}

static void advise_runtime(struct trial *t)
{
	if (t->user->was_root)
		trial_remedy(t, "start hutch as an ordinary user");
	else if (access("/run/systemd/system", F_OK) == 0)
		trial_remedy(t, "as root: loginctl enable-linger %u; then: export "
				"XDG_RUNTIME_DIR=/run/user/%u", geteuid(), geteuid());
	else
		trial_remedy(t, OWN_FOLDER);
}

static void explain_unwritable(struct trial *t, const char *base)
{
	int sys = errno;
	struct stat st;

	trial_found(t, CHECK_MISSING, "%.300s cannot be written to: %s", base,
		    err_words(sys));
	if (sys == EACCES && stat(base, &st) == 0 && st.st_uid == geteuid())
		trial_remedy(t, "chmod u+rwx %.300s", base);
	else
		trial_remedy(t, OWN_FOLDER);
}

static void explain_fallback(struct trial *t, const char *path)
{
	const char *named = getenv("XDG_RUNTIME_DIR");

	if (!named || !*named)
		trial_found(t, CHECK_LIMITED, "XDG_RUNTIME_DIR is not set: %s is used",
			    path);
	else
		trial_found(t, CHECK_LIMITED,
			    "XDG_RUNTIME_DIR=%.300s is no folder of user %u: "
			    "%s is used",
			    named, geteuid(), path);
	trial_means(t,
		    "another user could take that name first, and a program that tidies "
		    "/tmp may remove it");
	advise_runtime(t);
}

/* Cuts the path, in place, to the part of it that exists. */
static void cut_to_what_is_there(char *path)
{
	struct stat st;

	while (stat(path, &st) < 0 && errno == ENOENT) {
		char *slash = strrchr(path, '/');
		slash[slash == path] = '\0'; /* the path's first slash is kept, so that
					      * "/" is left */
	}
}

void probe_runtime_dir(struct trial *t)
{
	AUTO_FREE char *path = folder_path(FOLDER_STATE);
	AUTO_FREE char *base = text_copy(path);
	struct stat st;

	*strrchr(base, '/') = '\0';
	AUTO_FREE char *above = text_copy(base);
	cut_to_what_is_there(above);
	bool is_there = lstat(path, &st) == 0;
	AUTO_CLOSE int folder = is_there ? folder_open(path, &t->e) : -1;
	if (is_there && folder < 0)
		trial_failed(t);
	else if (try_to_write(is_there ? path : above) < 0)
		explain_unwritable(t, is_there ? path : above);
	else if (strcmp(above, base) != 0)
		trial_found(t, CHECK_OK, "%s, which is made when it is needed", base);
	else if (!strcmp(base, "/tmp"))
		explain_fallback(t, path);
	else
		trial_found(t, CHECK_OK, "%s", base);
}
