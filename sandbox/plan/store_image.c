#include "sandbox/plan/store_image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "base/worker.h"
#include "policy/policy.h"
#include "policy/volume.h"
#include "sandbox/kernel/host_user.h"
#include "sandbox/kernel/idmap.h"
#include "sandbox/kernel/program.h"
#include "sandbox/plan/image_tool.h"
#include "sandbox/plan/overlay_lowers.h"
#include "store/image_nearest.h"
#include "store/reference.h"
#include "store/refs.h"
#include "store/store.h"

#define VARIABLES_MAX 4096

void store_image_init(struct store_image *s)
{
	*s = (struct store_image){ .lock = -1 };
}

void store_image_done(struct store_image *s)
{
	if (!s)
		return;
	launch_config_done(&s->launch_config);
	own_close(&s->lock);
	own_free(&s->name);
	list_done(&s->lowers);
	list_done(&s->ranged);
	own_free(&s->store);
	list_done(&s->argv);
	image_user_done(&s->user);
	own_free(&s->workdir);
}

/* --- the image ---------------------------------------------------------------------- */

__attribute__((noreturn)) static void run_pull(const struct store_image *s, char *path,
					       int output)
{
	char name[] = "hutch-image", verb[] = "launch-pull";
	char *argv[] = { name, verb, s->name, NULL };
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	/* The user that root became may have other processes, which could read this
	 * process's environment: root's settings are removed. */
	if (s->was_root)
		host_user_forget_for_images();
	if (nothing >= 0 && dup2(nothing, 0) >= 0 && dup2(output, 1) >= 0)
		(void)execv(path, argv);
	_exit(127);
}

static int pull_failed(const struct store_image *s, const struct err *why,
		       bool is_reported, struct err *e)
{
	if (is_reported) {
		*e = *why;
		err_sanitize(e);
	} else {
		(void)err_set(e, ERR_GONE,
			      "--image %.200s: hutch image pull ended without "
			      "saying why",
			      s->name);
	}
	if (!e->remedy[0])
		(void)err_remedy(
			e, "hutch image ls lists the images that are here; hutch image "
			   "import makes one of a folder, a tar or docker save");
	return -1;
}

/* Runs `hutch-image pull`, which writes the reason of a failure to our pipe, as its
 * stdout.  So hutch prints the reason once, as part of its own result. */
static int pull(const struct store_image *s, struct err *e)
{
	AUTO_FREE char *path = NULL;
	struct err why;
	int ends[2];

	if (program_find("hutch-image", &path, e) < 0)
		return -1;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	AUTO_CLOSE int from = ends[0];
	pid_t pid = fork();
	if (pid == 0)
		run_pull(s, path, ends[1]);
	(void)close(ends[1]);
	if (pid < 0)
		return err_sys(e, "fork");
	bool is_reported = io_read_full(from, &why, sizeof(why)) == sizeof(why);
	if (worker_reap(pid) == 0)
		return 0;
	return pull_failed(s, &why, is_reported && why.kind != ERR_NONE, e);
}

/* Finds the image in the store.  A digest in the reference may be that of the image's
 * manifest, or that of an index by which the image was pulled. */
static int find(struct store_image *s, const struct reference *r, struct err *e)
{
	struct store store;

	store_init(&store);
	if (store_open(&store, false, e) < 0)
		return -1;
	int found = refs_get(&store, r, &s->image, e);
	if (found < 0 && e->kind == ERR_NOT_FOUND && r->pin.hex[0]) {
		s->image = r->pin;
		found = 0;
	}
	if (found == 0)
		found = launch_config_open(&store, &s->image, &s->launch_config, &s->lock,
					   e);
	for (size_t i = 0; found == 0 && i < s->launch_config.layers.count; i++)
		list_addf(&s->lowers, "%s/" STORE_LAYERS "/%s/" STORE_FS, store.path,
			  s->launch_config.layers.items[i]);
	own_free(&s->store);
	s->store = text_copy(store.path);
	store_done(&store);
	return found < 0 ? err_in(e, "--image %.200s", s->name) : 0;
}

static void suggest_name(const struct store_image *s, struct err *e)
{
	struct store store;

	store_init(&store);
	if (store_open(&store, false, NULL) == 0)
		(void)image_nearest_in(&store, s->name, e);
	store_done(&store);
}

static int find_or_pull(struct store_image *s, const struct reference *r,
			const struct policy *p, bool is_dry_run, struct err *e)
{
	if (p->pull == PULL_ALWAYS && !is_dry_run && pull(s, e) < 0)
		return -1;
	if (find(s, r, e) == 0)
		return 0;
	if (e->kind != ERR_NOT_FOUND || p->pull == PULL_ALWAYS)
		return -1;
	if (p->pull == PULL_NEVER || is_dry_run) {
		(void)err_set(e, ERR_NOT_FOUND,
			      "--image %.200s: there is no such image in the "
			      "store%s",
			      s->name,
			      is_dry_run ? "" : ", and --pull never fetches none");
		suggest_name(s, e);
		return err_remedy(e, "hutch image pull %.200s", s->name);
	}
	return pull(s, e) < 0 ? -1 : find(s, r, e);
}

/* --- the command -------------------------------------------------------------------- */

static void add_all(struct list *to, const struct list *from)
{
	for (size_t i = 0; i < from->count; i++)
		list_add(to, from->items[i]);
}

static int decide_argv(struct store_image *s, const struct policy *p, struct err *e)
{
	if (p->takes_actions)
		return 0;
	if (!p->entrypoint)
		add_all(&s->argv, &s->launch_config.entrypoint);
	else if (*p->entrypoint)
		list_add(&s->argv, p->entrypoint);
	if (p->argv.count)
		add_all(&s->argv, &p->argv);
	else if (!p->entrypoint)
		add_all(&s->argv, &s->launch_config.cmd);
	if (s->argv.count && *s->argv.items[0])
		return 0;
	(void)err_set(e, ERR_USAGE, "no command given, and the image %.200s names none",
		      s->name);
	return err_remedy(e, "for a shell: hutch run -it --image %.200s sh", s->name);
}

static int decide_workdir(struct store_image *s, struct err *e)
{
	if (s->launch_config.workdir &&
	    volume_normalize(s->launch_config.workdir, &s->workdir, e) < 0)
		return err_in(e, "the WorkingDir of the image %.200s", s->name);
	return 0;
}

int store_image_open(struct store_image *s, const struct policy *p, bool is_dry_run,
		     struct err *e)
{
	struct reference r;
	char name[REFERENCE_MAX];

	if (reference_parse(p->image_path, &r, e) < 0)
		return err_in(e, "--image");
	reference_print_short(&r, name);
	s->name = text_copy(name);
	if (find_or_pull(s, &r, p, is_dry_run, e) < 0)
		return -1;
	if (s->launch_config.env.count > VARIABLES_MAX)
		return err_set(e, ERR_LIMIT,
			       "the image %.200s has more than %d variables", s->name,
			       VARIABLES_MAX);
	if (image_user_decide(&s->user, &s->lowers, s->launch_config.user, p, e) < 0 ||
	    decide_workdir(s, e) < 0)
		return -1;
	return decide_argv(s, p, e);
}

/* --- with ranges -------------------------------------------------------------------- */

void store_image_name_ranged(struct store_image *s, const struct idmaps *maps)
{
	AUTO_FREE char *word = idmaps_print(maps);

	for (size_t i = 0; i < s->launch_config.layers.count; i++)
		list_addf(&s->ranged, "%s/" STORE_RANGED "/%s/%s/" STORE_FS, s->store,
			  word, s->launch_config.layers.items[i]);
}

/* Returns whether copies of all layers exist.  A copy gets its name only when it is
 * complete, so it is enough to look for the name. */
static bool all_are_there(const struct list *ranged)
{
	for (size_t i = 0; i < ranged->count; i++)
		if (access(ranged->items[i], F_OK) < 0)
			return false;
	return true;
}

int store_image_make_ranged(const struct store_image *s, const struct idmaps *maps,
			    int words, struct err *e)
{
	AUTO_FREE char *word = idmaps_print(maps);
	struct image_tool t = { .in = -1, .errors = words, .was_root = s->was_root,
				.doing = "layers were copied for --idmap ranges" };

	if (all_are_there(&s->ranged))
		return 0;
	list_add(&t.words, "launch-ranged");
	list_add(&t.words, word);
	add_all(&t.words, &s->launch_config.layers);
	int rc = image_tool_hear(&t, e);
	list_done(&t.words);
	return rc < 0 ? err_in(e, "--image %.200s", s->name) : 0;
}
