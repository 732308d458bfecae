#include "cli/plugin_install.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/own.h"
#include "cli/common/flags.h"
#include "cli/common/report.h"
#include "policy/plugin/manifest.h"
#include "policy/plugin_uses.h"
#include "sandbox/kernel/program.h"
#include "sandbox/launch/result.h"
#include "sandbox/plan/plugin_find.h"
#include "store/folders.h"
#include "store/rm_tree.h"

/* The new folder is made beside hutch's own, which no sandbox sees, and on the same file
 * system, so that it can be moved there. */
#define NEW_PREFIX ".hutch-plugin-"
/* The folder of the installation before, beside that of the last one. */
#define BEFORE "before"

struct install {
	const char *name;     /* borrowed */
	const struct list *allow; /* borrowed: the values of --allow */
	char *folder;	      /* owned; the plugin's */
	struct manifest manifest; /* owned */
	char *beside;	      /* owned; the folder that has hutch's data folder in it */
	char *place;	      /* owned; DATA/plugins/NAME */
	char *made;	      /* owned; the new folder; NULL: not made yet */
	int lock;	      /* owned; held during the installation; -1: not held */
};

/* --- folders ------------------------------------------------------------------------- */

static int find_folders(struct install *x, struct err *e)
{
	AUTO_FREE char *data = folder_path(FOLDER_DATA);

	if (!data) {
		(void)err_set(e, ERR_NOT_FOUND,
			      "there is no folder to install to: neither HOME nor "
			      "XDG_DATA_HOME names one of user %u's",
			      geteuid());
		return err_remedy(
			e, "an ordinary user can install plugins; root's sandboxes see "
			   "no installation");
	}
	if (folder_create(data, e) < 0)
		return -1;
	AUTO_FREE char *plugins = text_format("%s/plugins", data);
	x->place = text_format("%s/%s", plugins, x->name);
	x->beside = text_copy(data);
	*strrchr(x->beside, '/') = '\0';
	if (mkdir(plugins, 0700) < 0 && errno != EEXIST)
		return err_sys(e, "make %.300s", plugins);
	if (mkdir(x->place, 0700) < 0 && errno != EEXIST)
		return err_sys(e, "make %.300s", x->place);
	return 0;
}

static int take_lock(struct install *x, struct err *e)
{
	AUTO_CLOSE int lock = open(x->place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (lock < 0)
		return err_sys(e, "open %.300s", x->place);
	if (flock(lock, LOCK_EX | LOCK_NB) == 0) {
		x->lock = fd_take(&lock);
		return 0;
	}
	return errno == EWOULDBLOCK
		       ? err_set(e, ERR_BUSY, "the plugin '%s' is being installed by another "
					      "process", x->name)
		       : err_sys(e, "lock %.300s", x->place);
}

/* Removes the folders of unfinished installations of this plugin.  The caller must hold the
 * lock: without it, one of them may be that of an installation under way. */
static void sweep(const struct install *x)
{
	AUTO_FREE char *prefix = text_format(NEW_PREFIX "%s.", x->name);
	AUTO_CLOSE int beside = open(x->beside, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *all = opendir(x->beside);
	const struct dirent *entry;

	while (beside >= 0 && all && (entry = readdir(all)))
		if (!strncmp(entry->d_name, prefix, strlen(prefix)))
			rm_tree_remove(beside, entry->d_name);
	if (all)
		(void)closedir(all);
}

static int make_new(struct install *x, struct err *e)
{
	char *path = text_format("%s/" NEW_PREFIX "%s.XXXXXX", x->beside, x->name);

	if (!mkdtemp(path)) {
		(void)err_sys(e, "make %.300s", path);
		free(path);
		return -1;
	}
	x->made = path;
	return 0;
}

/* Puts the new folder into the place of the one before.  That one is kept until the next
 * installation, since sandboxes that live have it mounted, and would see it emptied. */
static int put_in_place(const struct install *x, struct err *e)
{
	AUTO_FREE char *venv = text_format("%s/venv", x->place);
	AUTO_FREE char *before = text_format("%s/" BEFORE, x->place);

	rm_tree_remove(x->lock, BEFORE);
	if (sys_renameat2(AT_FDCWD, x->made, AT_FDCWD, venv, KERNEL_RENAME_EXCHANGE) ==
	    0) {
		(void)rename(x->made, before); /* on failure, sweep() removes it */
		return 0;
	}
	if (errno != ENOENT || rename(x->made, venv) < 0)
		return err_sys(e, "move the result to %.300s", venv);
	return 0;
}

static void install_done(struct install *x)
{
	if (x->lock >= 0)
		sweep(x);
	own_close(&x->lock);
	manifest_done(&x->manifest);
	free(x->folder);
	free(x->beside);
	free(x->place);
	free(x->made);
}

/* --- the sandbox ----------------------------------------------------------------------- */

static struct list command_of(const struct install *x, const char *hutch)
{
	AUTO_FREE char *inside = text_format(PLUGIN_USES_DIR "/%s", x->name);
	struct list argv = { 0 };

	list_add(&argv, hutch);
	list_add(&argv, "run");
	for (size_t i = 0; i < x->manifest.allow.count; i++) {
		list_add(&argv, "--allow");
		list_add(&argv, x->manifest.allow.items[i]);
	}
	for (size_t i = 0; i < x->allow->count; i++) {
		list_add(&argv, "--allow");
		list_add(&argv, x->allow->items[i]);
	}
	list_add(&argv, "-v");
	list_addf(&argv, "%s:%s:ro", x->folder, inside);
	list_add(&argv, "-v");
	list_addf(&argv, "%s:%s.venv:rw", x->made, inside);
	list_add(&argv, "-e");
	list_addf(&argv, "HUTCH_PLUGIN_VENV=%s.venv", inside);
	list_add(&argv, "-w");
	list_addf(&argv, "%s.venv", inside);
	list_add(&argv, "--");
	list_addf(&argv, "%s/%s", inside, x->manifest.install);
	return argv;
}

__attribute__((noreturn)) static void run_hutch(const char *path, struct list *argv,
						const sigset_t *before, pid_t parent)
{
	/* The sandbox ends with this program, even if that is SIGKILLed: without its
	 * lock, the next installation would remove the folder below it. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent && sigprocmask(SIG_SETMASK, before, NULL) == 0)
		(void)execv(path, argv->items);
	_exit(EXIT_HUTCH);
}

/* Waits for the child, and passes signals on to it that were sent to this process alone;
 * those of the terminal (SI_KERNEL) it has got itself.  Returns its exit code, or -1. */
static int await(pid_t child, const sigset_t *watched)
{
	int status = 0;
	pid_t ended;

	while ((ended = waitpid(child, &status, WNOHANG)) == 0) {
		siginfo_t info;
		int number = sigwaitinfo(watched, &info);
		if (number > 0 && number != SIGCHLD && info.si_code != SI_KERNEL)
			(void)kill(child, number);
	}
	if (ended < 0)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int run(const struct install *x, struct err *e)
{
	AUTO_FREE char *hutch = NULL;
	sigset_t watched, before;

	if (program_find_hutch(&hutch, e) < 0)
		return -1;
	(void)signal(SIGCHLD, SIG_DFL); /* if it were ignored, no status would come */
	(void)sigemptyset(&watched);
	(void)sigaddset(&watched, SIGCHLD);
	(void)sigaddset(&watched, SIGINT);
	(void)sigaddset(&watched, SIGTERM);
	(void)sigaddset(&watched, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &watched, &before);
	struct list argv = command_of(x, hutch);
	pid_t parent = getpid(), child = fork();
	if (child == 0)
		run_hutch(hutch, &argv, &before, parent);
	int code = child < 0 ? -1 : await(child, &watched);
	list_done(&argv);
	if (code <= 0)
		return code < 0 ? err_sys(e, "run %.300s", hutch) : 0;
	if (code == EXIT_HUTCH) /* hutch run has said why */
		return err_set(e, ERR_SYSTEM, "the plugin '%s' was not installed",
			       x->name);
	(void)err_set(e, ERR_SYSTEM, "the plugin '%s' was not installed: its program has "
				     "ended with exit code %d", x->name, code);
	return err_remedy(e, "its words stand above; --allow HOST lets it reach a further host");
}

static int install(struct install *x, struct err *e)
{
	x->folder = manifest_is_name(x->name) ? plugin_find_shipped(x->name) : NULL;
	if (!x->folder) {
		(void)plugin_find_absent(x->name, e);
		return err_remedy(e, "hutch plugin ls lists the plugins that hutch "
				     "ships; no others can be installed");
	}
	if (plugin_find_manifest(x->folder, x->name, &x->manifest, e) < 0)
		return -1;
	if (!x->manifest.install)
		return err_set(e, ERR_USAGE, "the plugin '%s' needs no installation", x->name);
	if (find_folders(x, e) < 0 || take_lock(x, e) < 0)
		return -1;
	sweep(x);
	if (make_new(x, e) < 0 || run(x, e) < 0)
		return -1;
	return put_in_place(x, e);
}

int plugin_install_main(char **argv)
{
	struct list allow = { 0 };
	const struct flag flags[] = {
		{ 0, "allow", "HOST...", "a further host that its program may reach", NULL,
		  &allow },
	};
	const struct usage usage = {
		.synopsis = "hutch plugin install [--allow HOST]... NAME",
		.about = "Makes what the plugin needs, in a sandbox, and keeps it in the "
			 "store.",
		.flags = flags, .count = ARRAY_LEN(flags),
		.operands_min = 1, .operands_max = 1,
		.hint = "hutch plugin ls lists the plugins",
	};
	struct err e;
	enum flags_result got = flags_begin(argv, &usage);

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	struct install x = { .name = argv[0], .allow = &allow, .lock = -1 };
	int installed = install(&x, &e);
	if (x.place)
		install_done(&x);
	else
		free(x.folder), manifest_done(&x.manifest);
	list_done(&allow);
	return report_end(installed, &e);
}
