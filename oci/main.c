/* hutch-oci: an OCI runtime with crun's command line, for podman, containerd, CRI-O,
 * Kubernetes and Slurm.  `hutch oci` is this program, and so is a hutch that is found as
 * hutch-oci.  docs/hutch-oci.md */
#include <linux/close_range.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/nearest.h"
#include "base/own.h"
#include "oci/args.h"
#include "oci/log.h"
#include "oci/sealed.h"
#include "oci/spaces.h"
#include "oci/verbs.h"

static const struct verb {
	const char *name, *help;
	int (*main)(const struct globals *g, char **argv, struct err *e);
	bool enters; /* runs in a container's namespaces, so that the program is sealed */
} verbs[] = {
	{ "create", "make a container, which waits for its start", create_verb, true },
	{ "start", "start the command of a created container", start_verb, false },
	{ "run", "create, start, wait and delete", run_verb, true },
	{ "exec", "run another command in a container", exec_verb, true },
	{ "state", "print the state of a container as JSON", state_verb, false },
	{ "list", "list the containers", list_verb, false },
	{ "ps", "list the processes of a container", ps_verb, false },
	{ "kill", "send a signal to a container", kill_verb, false },
	{ "delete", "remove a container that has ended", delete_verb, false },
	{ "pause", "freeze the processes of a container", pause_verb, false },
	{ "resume", "let them go on", resume_verb, false },
	{ "update", "change the limits of a container", update_verb, false },
	{ "events", "print figures of a container's cgroup", events_verb, false },
	{ "features", "print what this runtime has, as JSON", features_verb, false },
	{ "spec", "write a config.json to begin with", spec_verb, false },
	{ "checkpoint", "not supported", checkpoint_verb, false },
	{ "restore", "not supported", checkpoint_verb, false },
};

int checkpoint_verb(const struct globals *g, char **argv, struct err *e)
{
	(void)g;
	(void)argv;
	return err_set(e, ERR_UNSUPPORTED, "checkpoint and restore are not supported");
}

static void print_version(void)
{
	(void)printf("hutch-oci version %s\ncommit: %s\nspec: 1.3.0\n"
		     "+SYSTEMD +CAP +SECCOMP +APPARMOR +EBPF\n",
		     HUTCH_VERSION, HUTCH_VERSION); /* nothing is lost with it */
}

static void print_help(const struct args *a, FILE *to)
{
	(void)fprintf(to,
		      "hutch oci %s\n\n"
		      "An OCI runtime for podman, containerd and other engines.\n\n",
		      a->usage);
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		(void)fprintf(to, "  %-10s %s\n", verbs[i].name, verbs[i].help);
	(void)fprintf(to, "\n");
	args_print(a, to);
	(void)fprintf(to, "\nhutch oci VERB --help lists a verb's options.\n"
			  "More: man hutch-oci\n"); /* nothing is lost with it */
}

/* The folder of the containers' state.  A rootless engine runs its runtime as root of a
 * user namespace, where /run is not its own. */
static char *default_root(void)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");

	if (runtime && *runtime == '/' && (geteuid() != 0 || spaces_in_userns()))
		return text_format("%s/hutch-oci", runtime);
	return geteuid() == 0 ? text_copy("/run/hutch-oci")
			      : text_format("/tmp/hutch-oci-%u", geteuid());
}

struct global_flags {
	const char *root, *log, *format, *manager, *level, *rootless;
	bool is_debug, has_systemd, is_version, is_help;
};

static int read_manager(const struct global_flags *f, struct globals *g, struct err *e)
{
	static const char *const names[] = { "cgroupfs", "systemd", "disabled" };

	g->manager = f->has_systemd ? CGROUPS_SYSTEMD : CGROUPS_FS;
	if (!f->manager)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(names[i], f->manager)) {
			g->manager = (enum cgroups_manager)i;
			return 0;
		}
	return err_set(e, ERR_USAGE,
		       "--cgroup-manager: cgroupfs, systemd or disabled was "
		       "expected");
}

static int read_globals(const struct global_flags *f, struct globals *g, struct err *e)
{
	if (read_manager(f, g, e))
		return -1;
	g->root = f->root;
	g->log = f->log;
	g->is_log_json = f->format && !strcmp(f->format, "json");
	if (f->format && !g->is_log_json && strcmp(f->format, "text") != 0)
		return err_set(e, ERR_USAGE, "--log-format: text or json was expected");
	return log_open(g->log, g->is_log_json, e);
}

static const struct verb *find_verb(const char *name, struct err *e)
{
	struct nearest n;

	nearest_init(&n, name, strlen(name));
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		if (!strcmp(verbs[i].name, name))
			return &verbs[i];
		nearest_try(&n, verbs[i].name);
	}
	(void)err_set(e, ERR_USAGE, "unknown verb '%.64s'", name);
	(void)nearest_suggest(&n, "", e);
	return NULL;
}

/* Tells whether the caller wants descriptors of its own to be handed on. */
static bool is_asked(char *const *words)
{
	bool is = getenv("LISTEN_FDS");

	for (; *words; words++)
		is = is || !strncmp(*words, "--preserve-fds", 14);
	return is;
}

/* Notes which descriptors the caller has left open, before this program opens its own.
 * poll(2) tells of all in one call. */
static void note_inherited(struct globals *g, char *const *words)
{
	struct pollfd p[VERBS_FDS];
	struct rlimit limit;
	if (!is_asked(words) || getrlimit(RLIMIT_NOFILE, &limit))
		return;
	for (int i = 0; i < VERBS_FDS; i++)
		p[i] = (struct pollfd){ .fd = 3 + i };
	const nfds_t most = limit.rlim_cur < VERBS_FDS ? (nfds_t)limit.rlim_cur
						       : VERBS_FDS;
	if (poll(p, most, 0) < 0)
		return;
	for (nfds_t i = 0; i < most; i++)
		if (!(p[i].revents & POLLNVAL))
			g->inherited[i / 64] |= 1ull << (i % 64);
}

static int run(const struct verb *v, struct globals *g, char **words, char **argv,
	       struct err *e)
{
	if (v->enters && sealed_run(argv, e))
		return -1;
	/* Descriptors of the caller go to the command only if --preserve-fds names them.  Others
	 * would stay open in a container that waits for its start. */
	note_inherited(g, words);
	const unsigned rest = is_asked(words) ? 3 + VERBS_FDS : 3;
	if (sys_close_range(rest, ~0u, 0) ||
	    (rest > 3 && sys_close_range(3, rest - 1, CLOSE_RANGE_CLOEXEC)))
		return err_sys(e, "close the caller's descriptors");
	return v->main(g, words, e);
}

/* Returns the exit code of a text that was printed. */
static int end_output(void)
{
	struct err e;

	if (fflush(stdout) == 0)
		return 0;
	(void)err_sys(&e, "write to stdout");
	log_error(&e);
	return 1;
}

/* Reads the flags in front of the verb, and runs it. */
static int act(char **words, char **argv, struct err *e)
{
	AUTO_FREE char *root = default_root();
	struct global_flags f = { .root = root };
	struct globals g = { 0 };
	const struct args_flag flags[] = {
		{ "root", 0, ARGS_TEXT, &f.root, "DIR",
		  "the folder of the containers' state" },
		{ "log", 0, ARGS_TEXT, &f.log, "FILE", "errors go there, too" },
		{ "log-format", 0, ARGS_TEXT, &f.format, "text|json", "of that file" },
		{ "log-level", 0, ARGS_TEXT, &f.level, "LEVEL", "has no effect" },
		{ "cgroup-manager", 0, ARGS_TEXT, &f.manager, "cgroupfs|systemd|disabled",
		  "makes the cgroups" },
		{ "systemd-cgroup", 's', ARGS_SWITCH, &f.has_systemd, NULL,
		  "as --cgroup-manager systemd" },
		{ "debug", 0, ARGS_SWITCH, &f.is_debug, NULL, "has no effect" },
		{ "rootless", 0, ARGS_TEXT, &f.rootless, "WORD", "has no effect" },
		{ "criu", 0, ARGS_IGNORED, NULL, "PATH", "has no effect" },
		{ "version", 'v', ARGS_SWITCH, &f.is_version, NULL, "print the version" },
		{ "help", 'h', ARGS_SWITCH, &f.is_help, NULL, "this text" },
	};
	const struct args a = { "[OPTIONS] VERB [OPTIONS] [ID]", flags, ARRAY_LEN(flags),
				true };

	if (args_read(&a, words, e) || read_globals(&f, &g, e))
		return -1;
	if (f.is_version)
		print_version();
	else if (f.is_help || !words[0])
		print_help(&a, f.is_help ? stdout : stderr);
	if (f.is_version || f.is_help)
		return end_output();
	const struct verb *v = words[0] ? find_verb(words[0], e) : NULL;
	return v ? run(v, &g, words + 1, argv, e) : words[0] ? -1 : 1;
}

int main(int argc, char **argv)
{
	struct err e = { 0 };
	/* args_read() moves words; execveat(2) needs them as they were. */
	AUTO_FREE char **words = calloc((size_t)argc + 1, sizeof(*words));

	if (!words || io_fill_standard())
		return 1;
	for (int i = 1; i < argc; i++)
		words[i - 1] = argv[i];
	const int code = act(words, argv, &e);
	if (code < 0 && !e.kind)
		return end_output(); /* a verb's help */
	if (code >= 0)
		return code;
	log_error(&e);
	return 1;
}
