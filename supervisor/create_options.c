#include "supervisor/create_options.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/plan/plugin_find.h"
#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/worker.h"
#include "cli/common/report.h"
#include "policy/egress_policy.h"
#include "policy/policy_file.h"
#include "sandbox/kernel/host_user.h"
#include "sandbox/kernel/program.h"
#include "sandbox/launch/result.h"
#include "sandbox/state/registry.h"
#include "store/reference.h"
#include "supervisor/restart_spec.h"

void create_options_init(struct create_options *o, enum verb verb)
{
	*o = (struct create_options){ .options = { .verb = verb, .json_fd = -1 } };
	o->options.policy = &o->policy;
	o->said = mem_zeroed(1, sizeof(*o->said));
	saved_spec_init(&o->saved_spec);
	policy_init(&o->policy);
}

void create_options_done(struct create_options *o)
{
	saved_spec_done(&o->saved_spec);
	policy_file_done(o->said);
	free(o->said);
	free(o->places);
	free(o->profile);
	free(o->kept_args);
	list_done(&o->args);
	free(o->from);
	free(o->name);
	policy_done(&o->policy);
}

static struct list take_list(struct list *l)
{
	const struct list taken = *l;

	*l = (struct list){ 0 };
	return taken;
}

/* Takes the name; the policy's argv becomes the words of the main process. */
static int settle_name(struct create_options *o, const char *name, struct err *e)
{
	o->name = text_copy(name);
	list_done(&o->policy.argv);
	if (o->options.has_main)
		o->policy.argv = take_list(&o->args);
	o->policy.takes_actions = !o->options.has_main;
	return registry_check_name(o->name, e);
}

/* Takes the words of the main process, those behind "--", off the names before them. */
static void take_args(struct create_options *o)
{
	struct list all = take_list(&o->policy.argv);
	bool is_behind = false;

	for (size_t i = 0; i < all.count; i++)
		if (!is_behind && !strcmp(all.items[i], "--"))
			is_behind = true;
		else
			list_add(is_behind ? &o->args : &o->policy.argv, all.items[i]);
	list_done(&all);
}

/* Takes the two names that fork is given: FROM, and the name of the new sandbox. */
static int take_names(struct create_options *o, struct err *e)
{
	struct list *words = &o->policy.argv;

	if (words->count != 2) {
		if (words->count > 2)
			(void)err_set(e, ERR_USAGE, "too many words: '%.60s'",
				      words->items[2]);
		else
			(void)options_missing(
				"fork", words->count ? "NAME" : "SANDBOX|SNAPSHOT", e);
		return err_remedy(e, "hutch fork [OPTIONS] SANDBOX|SNAPSHOT NAME");
	}
	o->from = text_copy(words->items[0]);
	o->policy.image = IMAGE_STORE;
	o->policy.image_path = text_copy("localhost/fork"); /* a placeholder until the
							     * image of the fork is
							     * known */
	o->policy.pull = PULL_NEVER;
	AUTO_FREE char *name = text_copy(words->items[1]);
	return settle_name(o, name, e);
}

const char *create_options_verb(const struct create_options *o)
{
	return o->options.verb == VERB_FORK    ? "fork"
	       : o->options.verb == VERB_START ? "start"
					       : "create";
}

/* Refuses more words than a name: a command, or options, which would have to come
 * first. */
static int refuse_words(const struct create_options *o, struct err *e)
{
	const struct list *words = &o->policy.argv;
	const char *verb = create_options_verb(o);
	const char *name = words->items[0], *next = words->items[1];

	if (next[0] == '-' && next[1] && strcmp(next, "--") != 0) {
		(void)err_set(e, ERR_USAGE,
			      "hutch %s takes its options before the name, but got "
			      "'%.60s' behind '%.60s'",
			      verb, next, name);
		return err_remedy(e, "hutch %s %.60s ... %.60s", verb, next, name);
	}
	(void)err_set(e, ERR_USAGE,
		      "hutch %s takes one name, but got '%.60s' and '%.60s'", verb, name,
		      next);
	if (!strcmp(next, "--"))
		next = words->count > 2 ? words->items[2] : "CMD";
	if (o->options.has_main)
		return err_remedy(e,
				  "the words of the main process come behind '--': "
				  "hutch %s --main %.60s -- %.60s",
				  verb, name, next);
	if (strcmp(verb, "create") != 0)
		return err_remedy(e,
				  "a command comes after it: hutch %s %.60s, then "
				  "hutch exec %.60s %.60s",
				  verb, name, name, next);
	return err_remedy(
		e,
		"a sandbox for this command alone: hutch create --main %.60s -- "
		"%.60s; for several: hutch create %.60s, then hutch exec %.60s "
		"%.60s",
		name, next, name, name, next);
}

/* Refuses "hutch create -- true", in which "true" is rather a command than a name. */
static int refuse_dashes(const struct create_options *o, struct err *e)
{
	const char *word = o->policy.argv.items[0];

	if (o->options.has_main) {
		(void)err_set(e, ERR_USAGE,
			      "hutch create --main takes the name before '--', "
			      "but got '%.60s' behind it",
			      word);
		return err_remedy(e, "hutch create --main NAME -- %.60s", word);
	}
	(void)err_set(e, ERR_USAGE,
		      "hutch create runs no command, but '%.60s' stands behind '--'",
		      word);
	return err_remedy(e,
			  "a sandbox for this command alone: hutch create --main NAME -- "
			  "%.60s; for several: hutch create NAME, then hutch exec NAME "
			  "%.60s; a name has no '--' before it",
			  word, word);
}

/* Takes the name of the sandbox, the only word that is no option. */
static int take_name(struct create_options *o, struct err *e)
{
	struct list *words = &o->policy.argv;
	const char *verb = create_options_verb(o);

	if (o->options.has_main)
		take_args(o);
	if (o->options.verb == VERB_FORK)
		return take_names(o, e);
	if (!words->count) {
		(void)options_missing(verb, "NAME", e);
		return err_remedy(
			e, "hutch %s [OPTIONS] NAME; commands are for hutch exec", verb);
	}
	if (o->options.verb == VERB_CREATE && o->options.has_dashes)
		return refuse_dashes(o, e);
	if (words->count > 1)
		return refuse_words(o, e);
	return settle_name(o, words->items[0], e);
}

/* Makes a path absolute, without symbolic links.  A path that does not exist stays as
 * it is; the launch reports it later. */
static void resolve_path(char **at)
{
	char *path = *at ? realpath(*at, NULL) : NULL;

	if (!path)
		return;
	free(*at);
	*at = path;
}

/* Resolves all paths now, since the supervisor changes the working directory. */
static void resolve_paths(struct policy *p)
{
	resolve_path(&p->cgroup_parent);
	if (!p->is_resolved)
		resolve_path(&p->upper);
}

/* Executes hutch-image, in the child, as the user that owns the images. */
static _Noreturn void become_image(const struct create_options *o, const char *path,
				   int output)
{
	char program[] = "hutch-image", verb[] = "fork-source", dash[] = "--";
	char *argv[] = { program, verb, dash, o->from, o->name, NULL };
	struct err e;

	if (host_user_become_for_images(&e) < 0)
		report_error(&e);
	else if (dup2(output, 1) >= 0)
		(void)execv(path, argv);
	_exit(EXIT_HUTCH);
}

/* Finds the image of a fork.  If FROM is a sandbox, hutch-image takes a snapshot of it;
 * otherwise FROM is an image.  A text with '/' or ':' cannot be a sandbox's name, so
 * hutch-image is not run: it takes longer to start than a sandbox.  -1 with ERR_NONE:
 * hutch-image has reported the error. */
static int find_source(struct create_options *o, struct err *e)
{
	AUTO_FREE char *path = NULL, *text = NULL;
	size_t len = 0;
	int ends[2];

	if (strpbrk(o->from, "/:")) {
		free(o->policy.image_path);
		o->policy.image_path = text_copy(o->from);
		return 0;
	}
	e->kind = ERR_NONE;
	if (program_find("hutch-image", &path, e) < 0)
		return -1;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	AUTO_CLOSE int output = ends[0];
	pid_t pid = fork();
	if (pid == 0)
		become_image(o, path, ends[1]);
	(void)close(ends[1]);
	if (pid < 0)
		return err_sys(e, "fork");
	int rc = io_read_file(output, "what hutch-image says", REFERENCE_MAX, &text, &len,
			      e);
	if (worker_reap(pid) != 0 || rc < 0)
		return -1;
	text[strcspn(text, "\n")] = '\0';
	free(o->policy.image_path);
	o->policy.image_path = text_copy(text);
	return 0;
}

/* Finds and reads the saved spec of the kept sandbox to start.  Runs as the user whose
 * data folder has it, which for root is the user that runs root's sandboxes. */
static int look_up(void *arg, struct err *e)
{
	struct create_options *o = arg;
	struct registry_item live;

	if (registry_look(o->name, &live, NULL) == 0) {
		registry_item_done(&live);
		(void)err_set(e, ERR_EXISTS, "sandbox '%s' is running", o->name);
		return err_remedy(e, "hutch exec %s, or end it first: hutch stop %s",
				  o->name, o->name);
	}
	if (saved_spec_find(o->name, &o->saved_spec, e) == 0)
		return saved_spec_read(&o->saved_spec, o->said, e);
	if (e->kind != ERR_NOT_FOUND || registry_find_ended(o->name, &live, NULL) < 0)
		return -1;
	registry_item_done(&live);
	(void)err_set(e, ERR_NOT_FOUND,
		      "sandbox '%s' has ended, and nothing of it is kept", o->name);
	return err_remedy(e, "a sandbox that is made with --keep can be started again");
}

static int take_up(struct create_options *o, struct err *e)
{
	const struct saved_spec *d = &o->saved_spec;

	if (host_user_as_client(look_up, o, e) < 0 ||
	    restart_spec_apply(&o->options, d->name, o->said, e) < 0)
		return -1;
	o->policy.takes_actions = !o->options.has_main;
	if (o->options.has_main && d->args &&
	    restart_spec_take_args(d->args, &o->policy.argv, e) < 0)
		return err_in(e, "%s/args", d->path);
	if (strcmp(o->name, d->name) != 0) { /* the user has named the sandbox by its
					      * id */
		free(o->name);
		o->name = text_copy(d->name);
	}
	if (o->policy.seccomp) {
		free(o->policy.seccomp);
		o->policy.seccomp = saved_spec_profile(d);
	}
	if (!d->digest)
		return 0;
	free(o->policy.image_path);
	o->policy.image_path = text_format("%s@sha256:%s", d->image, d->digest);
	o->policy.pull = PULL_NEVER;
	return 0;
}

/* Prepares the options to be saved with a kept sandbox.  A fork's image is known by
 * now. */
static int describe(struct create_options *o, struct err *e)
{
	if (!o->policy.keeps || o->options.verb == VERB_START)
		return 0;
	if (o->options.verb == VERB_FORK &&
	    policy_file_say(o->said, "image", o->policy.image_path, "/", e) < 0)
		return -1;
	o->places = restart_spec_places(&o->policy);
	o->profile = restart_spec_profile(&o->policy);
	o->kept_args = o->options.has_main ? restart_spec_args(&o->policy) : NULL;
	return restart_spec_describe(&o->policy, o->said, e);
}

/* Checks the options of a sandbox with a lease.  While it waits for its client no port
 * may lead into it, and it must leave nothing behind when it ends. */
static int check_lease(const struct run_options *o, struct err *e)
{
	for (size_t i = 0; o->lease_fd > 0 && i < o->policy->plugin_uses.count; i++)
		if (o->policy->plugin_uses.items[i].port) {
			const char *name = o->policy->plugin_uses.items[i].name;
			(void)err_set(
				e, ERR_USAGE,
				"--plugin %s makes no sense for a pool, nor with "
				"--lease: the plugin's port would lead into a sandbox "
				"that no client has taken yet",
				name);
			return err_remedy(e,
					  "hutch create --plugin %s makes a sandbox "
					  "outside of the pool",
					  name);
		}
	if (o->lease_fd > 0 && o->policy->publish_count > 0) {
		(void)err_set(e, ERR_USAGE,
			      "-p and --lease exclude each other: a port would lead "
			      "into a sandbox that no client has taken yet");
		return err_remedy(e,
				  "hutch port add publishes ports of one that was taken");
	}
	/* The descriptor of --json is closed when the sandbox is ready.  If it were
	 * also the lease's, that would end the sandbox. */
	if (o->lease_fd > 0 && o->lease_fd == o->json_fd)
		return err_set(e, ERR_USAGE, "--lease and --json need a descriptor each");
	if (o->lease_fd > 0 && o->policy->keeps)
		return err_set(e, ERR_USAGE,
			       "--keep and --lease exclude each other: a sandbox "
			       "that ends with a connection is not kept");
	return 0;
}

static int exclude(const char *flag, const char *other, const char *why, struct err *e)
{
	return err_set(e, ERR_USAGE, "%s and %s exclude each other: %s", flag, other,
		       why);
}

static int needs_main(const char *flag, struct err *e)
{
	(void)err_set(e, ERR_USAGE, "%s is for a main process, and there is none", flag);
	return err_remedy(e,
			  "--main makes the image's command, or the words behind '--', "
			  "the sandbox's main process");
}

/* Checks the options about the main process and the end.  A policy may have an entrypoint
 * for other verbs. */
static int check_main(struct create_options *o, struct err *e)
{
	const struct run_options *r = &o->options;

	if (!r->has_main && r->has_entrypoint_flag)
		return needs_main("--entrypoint", e);
	if (!r->has_main && r->restart.when != RESTART_NO)
		return needs_main("--restart", e);
	if (!r->has_main && r->stop_signal)
		return needs_main("--stop-signal", e);
	if (!r->has_main && r->has_stop_timeout)
		return needs_main("--stop-timeout", e);
	if (!r->has_main)
		own_free(&o->policy.entrypoint);
	if (r->leaves_nothing && r->restart.when != RESTART_NO)
		return exclude("--restart", "--rm",
			       "one starts again what the other removes", e);
	if (r->leaves_nothing && o->policy.keeps)
		return exclude("--keep", "--rm", "one keeps what the other removes", e);
	if (!r->has_main || o->policy.image == IMAGE_STORE || o->policy.argv.count)
		return 0;
	(void)err_set(e, ERR_USAGE, "--main needs a command: the root has no image's");
	return err_remedy(e, "hutch create --main %.60s -- CMD [ARG...]", o->name);
}

int create_options_parse(struct create_options *o, char **argv, struct err *e)
{
	const enum verb verb = o->options.verb;

	o->options.kept = o->said;
	o->options.notes = verb != VERB_START;
	if (options_parse(argv, &o->options, e) < 0)
		return -1;
	if (o->options.wants_help)
		return 0;
	if (take_name(o, e) < 0 || (verb == VERB_START && take_up(o, e) < 0) ||
	    check_main(o, e) < 0 || plugin_find_all(&o->policy, e) < 0 ||
	    policy_check(&o->policy, e) < 0 ||
	    egress_policy_check_name(&o->policy, o->name, e) < 0)
		return -1;
	if (check_lease(&o->options, e) < 0)
		return -1;
	if (verb == VERB_START &&
	    restart_spec_hold_places(&o->policy, o->saved_spec.places, e) < 0)
		return -1;
	resolve_paths(&o->policy);
	if (verb == VERB_FORK && find_source(o, e) < 0)
		return -1;
	return describe(o, e);
}
