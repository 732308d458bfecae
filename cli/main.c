/* hutch: runs the verb that the first word names. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/nearest.h"
#include "base/own.h"
#include "cli/common/foreign_flags.h"
#include "cli/common/report.h"
#include "cli/doctor.h"
#include "cli/exec.h"
#include "cli/foreign_verbs.h"
#include "cli/run.h"
#include "cli/verbs.h"
#include "sandbox/kernel/host_user.h"
#include "sandbox/kernel/log_level.h"
#include "sandbox/kernel/program.h"
#include "sandbox/launch/result.h"
#include "supervisor/create.h"

#ifndef HUTCH_VERSION
#define HUTCH_VERSION "0.1.0"
#endif

static int print_version(char **argv)
{
	(void)argv;
	(void)printf("hutch %s\n", HUTCH_VERSION);
	return 0;
}

static int print_help(char **argv);
static int unknown_verb(const char *name);

/* Runs a verb that is a program of its own, because it needs a library. 
 * `first` is its argv[0], `verb` the word after it, or NULL. */
static int run_as(const char *program, const char *first, const char *verb, char **argv)
{
	AUTO_FREE char *path = NULL;
	struct list words = { 0 };
	struct err e;

	if (program_find(program, &path, &e) < 0) {
		report_error(&e);
		return EXIT_HUTCH;
	}
	list_add(&words, first);
	if (verb)
		list_add(&words, verb);
	for (; *argv; argv++)
		list_add(&words, *argv);
	(void)execv(path, words.items);
	(void)err_sys(&e, "execute %s", path);
	report_error(&e);
	list_done(&words);
	return EXIT_HUTCH;
}

static int run_program(const char *program, char **argv)
{
	return run_as(program, program, NULL, argv);
}

/* This process forks the supervisor: a program of its own would cost a further exec. */
static int create_main(char **argv)
{
	return create_verb(VERB_CREATE, argv);
}

/* Runs `hutch fork` in the program hutch-supervise, which knows by its argv[0] that
 * it serves this verb. */
static int fork_main(char **argv)
{
	return run_as("hutch-supervise", "hutch-fork", NULL, argv);
}

static int start_main(char **argv)
{
	return run_as("hutch-supervise", "hutch-start", NULL, argv);
}

/* Runs docker's command line, for `hutch docker` and for a hutch that is found as
 * docker. */
static int docker_main(char **argv)
{
	return run_program("hutch-docker", argv);
}

static int bwrap_main(char **argv)
{
	return run_as("hutch-bwrap", "hutch bwrap", NULL, argv);
}

static int apptainer_main(char **argv)
{
	return run_program("hutch-apptainer", argv);
}

/* Runs the OCI runtime, for `hutch oci` and for a hutch that is found as hutch-oci. */
static int oci_main(char **argv)
{
	return run_program("hutch-oci", argv);
}

/* Runs hutch-serve.  Its sandboxes are those of the user that root's belong to. */
static int serve_main(char **argv)
{
	return run_program("hutch-serve", argv);
}

static int route_main(char **argv)
{
	return run_program("hutch-route", argv);
}

static int mcp_main(char **argv)
{
	return run_program("hutch-mcp", argv);
}

/* Runs hutch-image.  Images belong to the user that the sandboxes run for, so root
 * changes into that user first. */
static int run_image(const char *verb, char **argv)
{
	struct err e;

	if (host_user_become_for_images(&e) == 0)
		return run_as("hutch-image", "hutch-image", verb, argv);
	report_error(&e);
	return EXIT_HUTCH;
}

static int image_main(char **argv)
{
	return run_image(NULL, argv);
}

static int snapshot_main(char **argv)
{
	return run_image("snapshot", argv);
}

static int commit_main(char **argv)
{
	return run_image("commit", argv);
}

/* Runs a verb that asks live sandboxes.  Root's sandboxes belong to an ordinary
 * user, so root changes into that user first. */
static int as_client(int (*verb)(char **argv), char **argv)
{
	struct err e;

	if (host_user_become_client(&e) == 0)
		return verb(argv);
	report_error(&e);
	return EXIT_HUTCH;
}

/* Runs `hutch act`.  If the first word, or the word after --stream and --confirm, is no
 * flag, it is a sandbox's name. */
static int act_main(char **argv)
{
	char **first = argv;

	while (*first && (!strcmp(*first, "--stream") || !strcmp(*first, "--confirm")))
		first++;
	if (*first && **first != '-')
		return as_client(act_named, argv);
	return run_program("hutch-act", argv);
}

static const struct command {
	const char *name, *help;
	int (*main)(char **argv); /* the verb's function; its argv begins after the
				   * verb; NULL: this line is a heading */
	bool is_client;		  /* the verb asks live sandboxes, and root becomes
				   * their user first; exec does that itself */
} verbs[] = {
	{ "A sandbox that ends with its command:", NULL, NULL, false },
	{ "run", "one command in a fresh sandbox", run_main, false },
	{ "act", "actions as JSON lines, in a fresh sandbox or in one with a name",
	  act_main, false },

	{ "Work in a sandbox that has a name:", NULL, NULL, false },
	{ "create", "make one that lives on under its name", create_main, false },
	{ "start", "start it again when it has ended, if it was made with --keep",
	  start_main, false },
	{ "exec", "run a command in it", exec_main, false },
	{ "shell", "a shell in it", shell_main, false },
	{ "pool", "sandboxes made ahead, to be had at once: create, ls, take, exec, rm",
	  pool_main, false },
	{ "cp", "copy files into it, out of it, or from one to another", cp_main, false },
	{ "port", "ports of this host that lead into it: add, rm, ls", port_main, true },
	{ "net", "what it may connect to: ls, allow, deny, ask, rm, log, answer",
	  net_main, true },
	{ "connect", "its control socket over stdin and stdout", connect_main, true },

	{ "Watch it:", NULL, NULL, false },
	{ "ps", "list the sandboxes", ps_main, true },
	{ "inspect", "all that is known of one, as JSON", inspect_main, true },
	{ "logs", "the output of its detached processes", logs_main, true },
	{ "events", "its events", events_main, true },
	{ "stats", "what it uses", stats_main, true },
	{ "wait", "wait for its end, and print its exit code", wait_main, true },

	{ "Steer it:", NULL, NULL, false },
	{ "pause", "stop everything inside where it stands", pause_main, true },
	{ "unpause", "let it go on", unpause_main, true },
	{ "update", "change its limits", update_main, true },
	{ "rename", "give it another name", rename_main, true },
	{ "stop", "end it, after a time to end by itself", stop_main, true },
	{ "kill", "end it at once", kill_main, true },
	{ "rm", "remove the record, logs and files of an ended one", rm_main, true },

	{ "Its changes, in folders shown with :cow and in its root:", NULL, NULL, false },
	{ "changes", "list what is kept, of all sandboxes", changes_main, true },
	{ "diff", "list it", diff_main, true },
	{ "apply", "of a folder: make them on this host", apply_main, true },
	{ "discard", "of folders: throw them away", discard_main, true },
	{ "snapshot", "of its root: keep them as an image", snapshot_main, false },
	{ "fork", "make another sandbox of it, or of a snapshot", fork_main, false },
	{ "commit", "give it, or a snapshot, the name of an image of yours", commit_main,
	  false },

	{ "Permissions and records:", NULL, NULL, false },
	{ "policy", "policies: list, show, check, compare", policy_main, false },
	{ "why", "whether one may do something, and what decides that", why_main, false },
	{ "audit", "the audit log: verify, show", audit_main, true },

	{ "Contents of sandboxes:", NULL, NULL, false },
	{ "image", "images: pull, import, build, list, remove", image_main, false },
	{ "plugin", "programs for actions: ls, check, install, url", plugin_main, true },

	{ "For programs that know docker, bwrap or Apptainer:", NULL, NULL, false },
	{ "docker", "docker's command line, as `docker` if hutch has that name",
	  docker_main, false },
	{ "bwrap", "bubblewrap's command line, as `bwrap` if hutch has that name",
	  bwrap_main, false },
	{ "apptainer", "Apptainer's, as `apptainer` or `singularity`", apptainer_main,
	  false },

	{ "For engines of containers:", NULL, NULL, false },
	{ "oci", "an OCI runtime for podman, containerd and others", oci_main, false },

	{ "For clients of protocols:", NULL, NULL, false },
	{ "mcp", "a server of the Model Context Protocol, for desktop agents", mcp_main,
	  true },
	{ "serve", "sandboxes over HTTP, to clients of OpenHands and others", serve_main,
	  true },
	{ "route", "leads requests to several servers of hutch serve", route_main, true },

	{ "This host and this program:", NULL, NULL, false },
	{ "doctor", "what this host lacks, and what would change it", doctor_main,
	  false },
	{ "version", "print the version", print_version, false },
	{ "help", "print this", print_help, false },
};

static const struct command *find_verb(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (verbs[i].main && !strcmp(name, verbs[i].name))
			return &verbs[i];
	return NULL;
}

/* Returns whether the verb's first word is a verb, too, which has a help of its own. */
static bool has_parts(const struct command *verb)
{
	static const char *const names[] = { "image", "pool",	"port",
					     "net",   "policy", "audit", "plugin" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(names[i], verb->name))
			return true;
	return false;
}

/* Prints the help of a verb: `help VERB` means `VERB --help`, and `help image pull` means
 * `image pull --help`. */
static int print_help(char **argv)
{
	char flag[] = "--help", *words[] = { flag, NULL, NULL };
	const struct command *verb = argv[0] ? find_verb(argv[0]) : NULL;

	if (argv[0] && argv[0][0] != '-' && !verb)
		return unknown_verb(argv[0]);
	if (verb && has_parts(verb) && argv[1]) {
		words[0] = argv[1];
		words[1] = flag;
	}
	if (verb && verb->main != print_help && verb->main != print_version)
		return verb->main(words);
	(void)printf(
		"hutch VERB [OPTIONS]\n\nA safe place for an agent to act on this machine.\n");
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (verbs[i].main)
			(void)printf("  %-10s %s\n", verbs[i].name, verbs[i].help);
		else
			(void)printf("\n%s\n", verbs[i].name);
	(void)printf(
		"\nhutch VERB --help lists its flags; man hutch-VERB explains them.\n");
	return 0;
}

/* Returns the verb of hutch that the word may mean; NULL: none is near. */
static const char *nearest_verb(struct nearest *n, const char *name)
{
	nearest_init(n, name, strlen(name));
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (verbs[i].main)
			nearest_try(n, verbs[i].name);
	return nearest_name(n);
}

/* Fills in the error about a flag in the place of the verb. */
static void explain_flag(const char *flag, struct err *e)
{
	static const char *const own[] = { "--help", "--version" };
	struct nearest n;

	nearest_init(&n, flag, strlen(flag));
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		nearest_try(&n, own[i]);
	(void)err_set(e, ERR_USAGE, "%.60s stands where hutch expects a verb", flag);
	(void)nearest_suggest(&n, "", e);
	if (!strcmp(flag, "-v") || !strcmp(flag, "-V"))
		(void)err_remedy(e, "the version: hutch --version; a folder: "
				    "hutch run -v SRC:DST CMD");
	else
		(void)err_remedy(e, "the verb comes first, then its flags: "
				    "hutch run %.60s ...",
				 flag);
}

static void explain_verb(const char *name, struct err *e)
{
	const struct foreign_verb *theirs = foreign_verbs_find(name);
	struct nearest n;
	const char *ours = theirs ? theirs->ours : nearest_verb(&n, name);

	if (!*name)
		(void)err_set(e, ERR_USAGE, "the verb is an empty word");
	else
		(void)err_set(e, ERR_USAGE, "'%.60s' is not a hutch command%s%s%s", name,
			      ours ? "; is it hutch " : "", ours ? ours : "",
			      ours ? "?" : "");
	if (theirs)
		(void)err_remedy(e, "%s", theirs->remedy);
	else if (!*name)
		(void)err_remedy(e, "hutch help lists them");
	else
		(void)err_remedy(e, "hutch help lists them; to run a program: "
				    "hutch run %.60s",
				 name);
}

static int unknown_verb(const char *name)
{
	struct err e;

	if (foreign_flags_check_dash(name, &e) == 0) {
		if (*name == '-')
			explain_flag(name, &e);
		else
			explain_verb(name, &e);
	}
	report_error(&e);
	return EXIT_HUTCH;
}

static const struct {
	const char *flag, *variable;
} log_flags[] = { { "--log-level", LOG_LEVEL_VARIABLE },
		  { "--log-format", FORMAT_VARIABLE } };

/* Takes a flag "--flag VALUE" or "--flag=VALUE".  Returns the number of its words,
 * or 0 if the first word is no such flag. */
static int take_log_flag(char **words, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(log_flags); i++) {
		const size_t len = strlen(log_flags[i].flag);
		if (strncmp(*words, log_flags[i].flag, len) != 0)
			continue;
		const bool is_one = (*words)[len] == '=';
		if (!is_one && (*words)[len])
			continue;
		const char *value = is_one ? *words + len + 1 : words[1];
		if (!value || !*value)
			return err_set(e, ERR_USAGE, "%s needs a value",
				       log_flags[i].flag);
		if (setenv(log_flags[i].variable, value, 1) < 0)
			return err_sys(e, "%s", log_flags[i].flag);
		return is_one ? 1 : 2;
	}
	return 0;
}

/* Takes the flags about logs before the verb, which are for all programs that the
 * verb starts. */
static int take_log_flags(char **words, struct err *e)
{
	int taken = 0, more = 1;

	for (; words[taken] && more > 0; taken += more)
		if ((more = take_log_flag(words + taken, e)) < 0)
			return -1;
	return log_level_check(e) < 0 ? -1 : taken;
}

/* Names by which this program is found as another one, whose words it then takes. */
static const struct {
	const char *name, *program;
	bool says_own; /* its usage text has the name by which it was called */
} disguises[] = { { "docker", "hutch-docker", false },
		  { "bwrap", "hutch-bwrap", true },
		  { "apptainer", "hutch-apptainer", false },
		  { "singularity", "hutch-apptainer", false },
		  { "hutch-oci", "hutch-oci", false } };

/* Runs the other program as which this one was called, by a link of that name.  Returns
 * its exit code; -1: it was called as hutch. */
static int run_disguised(const char *self, char **argv)
{
	const char *last = strrchr(self, '/');

	for (size_t i = 0; i < ARRAY_LEN(disguises); i++)
		if (!strcmp(last ? last + 1 : self, disguises[i].name))
			return run_as(disguises[i].program,
				      disguises[i].says_own ? self : disguises[i].program,
				      NULL, argv);
	return -1;
}

int main(int argc, char **argv)
{
	struct err e;

	if (io_fill_standard() < 0)
		return EXIT_HUTCH;
	report_begin();
	if (arena_open(&e) < 0)
		return report_end(-1, &e);
	int code = argc > 0 ? run_disguised(argv[0], argv + 1) : -1;
	if (code >= 0)
		return code;
	int taken = argc < 2 ? 0 : take_log_flags(argv + 1, &e);
	if (taken < 0) {
		report_error(&e);
		return EXIT_HUTCH;
	}
	argc -= taken;
	argv += taken;
	if (argc < 2) {
		(void)print_help(argv + argc);
		return EXIT_HUTCH;
	}
	const char *name = argv[1];
	if (!strcmp(name, "--version"))
		name = "version";
	if (!strcmp(name, "--help") || !strcmp(name, "-h"))
		name = "help";
	const struct command *verb = find_verb(name);
	if (!verb)
		return unknown_verb(name);
	return report_exit(verb->is_client ? as_client(verb->main, argv + 2)
					   : verb->main(argv + 2));
}
