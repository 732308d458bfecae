#include "apptainer/launch.h"

#include <string.h>
#include <unistd.h>

#include "apptainer/action_args.h"
#include "apptainer/bind_args.h"
#include "apptainer/sandbox_dir.h"
#include "apptainer/source.h"
#include "apptainer/stored.h"
#include "base/err.h"
#include "base/note.h"
#include "base/own.h"
#include "docker/user_policy.h"

/* An image, and the facts about it that a launch needs. */
struct found {
	char *image; /* owned: the value of --image */
	bool is_host, is_folder;
	bool is_entered; /* its variables are in /.singularity.d */
};

/* --- the image --------------------------------------------------------------------- */

static int find_folder(const struct launch *l, const struct action *a, struct found *f,
		       struct err *e)
{
	const struct source *s = l->source;

	f->is_folder = true;
	f->is_entered = source_has(s, SANDBOX_DIR) && source_has(s, "bin/sh");
	f->image = text_format("dir:%s%s", s->word, a->is_writable ? ":rw" : "");
	if (l->kind == LAUNCH_RUN && !source_has(s, SANDBOX_RUN)) {
		(void)err_set(e, ERR_UNSUPPORTED, "%.200s has no runscript (/%s)",
			      l->shown, SANDBOX_RUN);
		return err_remedy(e, "apptainer exec %.100s CMD runs a command",
				  l->shown);
	}
	return 0;
}

/* The host image is this machine's /usr, which has no runscript. */
static int find_host(const struct launch *l, const struct action *a, struct found *f,
		     struct err *e)
{
	f->is_host = true;
	f->image = text_copy("host");
	if (a->overlay || a->is_writable)
		return err_set(e, ERR_UNSUPPORTED,
			       "%s: nothing is written over this host's own /usr; name "
			       "an image in the place of host",
			       a->overlay ? "--overlay" : "--writable");
	if (l->kind != LAUNCH_RUN || l->command[0])
		return 0;
	(void)err_set(e, ERR_UNSUPPORTED, "host has no runscript");
	return err_remedy(e, "apptainer exec host CMD runs a command");
}

static int find_image(const struct launch *l, const struct action *a, struct found *f,
		      struct err *e)
{
	if (l->source->kind == SOURCE_FOLDER)
		return find_folder(l, a, f, e);
	if (l->source->kind == SOURCE_HOST)
		return find_host(l, a, f, e);
	if (a->is_writable) {
		(void)err_set(e, ERR_UNSUPPORTED,
			      "--writable: %.200s is no folder, and its files cannot be "
			      "written to",
			      l->shown);
		return err_remedy(e,
				  "--writable-tmpfs keeps writes in memory; "
				  "apptainer build --sandbox FOLDER %.100s makes a "
				  "folder",
				  l->shown);
	}
	f->image = stored_find(l->source, &f->is_entered, e);
	return f->image ? 0 : -1;
}

/* --- folders and files ------------------------------------------------------------- */

/* Without a flag the root can be read alone, but for folders in memory, as Apptainer has
 * them with --contain.  The host image is read-only anyway. */
static void protect_root(const struct found *f, struct action *a)
{
	if (f->is_host || a->is_writable || a->has_writable_memory || a->overlay)
		return;
	bind_args_add_memory(a, "/tmp");
	bind_args_add_memory(a, "/var/tmp");
	bind_args_add_memory(a, "/root");
	list_add(&a->args.words, "--read-only");
}

/* Adds -w.  hutch makes the home of root where an image of the store has none. */
static void add_directory(const struct launch *l, const struct found *f, struct action *a)
{
	AUTO_FREE char *current = NULL;
	const char *directory = a->directory;

	if (!a->is_contained && !a->leaves_current_out)
		current = bind_args_current(a);
	if (!directory)
		directory = current ? current : a->home;
	if (!directory && f->is_folder && !source_has(l->source, "root") &&
	    !list_has(&a->targets, "/root"))
		directory = "/";
	if (!directory && !f->is_host)
		directory = "/root";
	if (!directory)
		return;
	list_add(&a->args.words, "-w");
	list_add(&a->args.words, directory);
}

/* hutch writes no /etc/resolv.conf into a folder that is shown as it is; the folder has one
 * for a network of rules (sandbox_dir.h), and this host's network has this host's. */
static int add_resolvers(const struct found *f, struct action *a, struct err *e)
{
	static const char path[] = "/etc/resolv.conf";

	if (!f->is_folder || !a->network || strcmp(a->network, "host") != 0 ||
	    list_has(&a->targets, path) || access(path, R_OK) < 0)
		return 0;
	return bind_args_show(&a->args, path, path, "ro", e);
}

/* Programs that call Apptainer count on this host's network, and would wait in vain. */
static void tell_of_network(void)
{
	note_print("note: the container has no network, unlike Apptainer's: --network "
		   "bridge or host gives one, as does the policy apptainer.json (man "
		   "hutch-apptainer)");
}

/* --- the words --------------------------------------------------------------------- */

static void add_env(const struct list *env, struct list *ret)
{
	for (size_t i = 0; i < env->count; i++) {
		list_add(ret, "-e");
		list_add(ret, env->items[i]);
	}
}

void launch_add_stdio(struct list *ret)
{
	list_add(ret, "-i");
	if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
		list_add(ret, "-t");
}

static void add_labels(const struct launch *l, const struct found *f, struct list *ret)
{
	list_add(ret, "--rm");
	list_add(ret, "--label");
	list_addf(ret, LABEL_IMAGE "=%s",
		  l->source->kind == SOURCE_IMAGE ? l->shown : l->source->word);
	if (f->is_entered) {
		list_add(ret, "--label");
		list_add(ret, LABEL_ENTER);
	}
}

static void add_command(const struct launch *l, const struct found *f,
			const struct list *env, struct list *ret)
{
	const bool is_run = l->kind == LAUNCH_RUN;

	if (l->kind == LAUNCH_INSTANCE) {
		list_add(ret, l->command[0]);
		return;
	}
	list_add(ret, "--");
	if (f->is_entered)
		sandbox_dir_enter(env, ret);
	if (is_run && (f->is_entered || f->is_folder))
		list_add(ret, "/" SANDBOX_RUN);
	for (char **word = l->command; *word; word++)
		list_add(ret, *word);
}

static void add_all(const struct launch *l, const struct found *f, struct action *a,
		    struct list *ret)
{
	const bool is_stored = !f->is_folder && !f->is_host;
	struct list env = { 0 };

	action_args_env(a, &env);
	for (size_t i = 0; i < a->args.words.count; i++)
		list_add(ret, a->args.words.items[i]);
	if (l->kind == LAUNCH_EXEC && is_stored) {
		list_add(ret, "--entrypoint");
		list_add(ret, "");
	}
	if (is_stored && l->source->kind != SOURCE_IMAGE) {
		list_add(ret, "--pull");
		list_add(ret, "never");
	}
	if (l->kind == LAUNCH_INSTANCE)
		add_labels(l, f, ret);
	else
		launch_add_stdio(ret);
	add_env(&env, ret);
	list_add(ret, "--image");
	list_add(ret, f->image);
	add_command(l, f, &env, ret);
	list_done(&env);
}

int launch_words(const struct launch *l, struct action *a, struct list *ret,
		 struct err *e)
{
	AUTO_FREE char *policy = NULL;
	struct found f = { 0 };
	bool opens_host;

	if (user_policy_find("apptainer.json", &policy, &opens_host, e) < 0)
		return -1;
	int rc = find_image(l, a, &f, e);
	if (rc == 0)
		rc = add_resolvers(&f, a, e);
	if (rc == 0) {
		list_add(ret, l->kind == LAUNCH_INSTANCE ? "create" : "run");
		if (!a->network && !policy)
			tell_of_network();
		action_args_add_network(a, policy, ret);
		protect_root(&f, a);
		add_directory(l, &f, a);
		add_all(l, &f, a, ret);
	}
	own_free(&f.image);
	return rc;
}
