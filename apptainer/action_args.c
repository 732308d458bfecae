#include "apptainer/action_args.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apptainer/bind_args.h"
#include "apptainer/env_args.h"
#include "apptainer/limit_args.h"
#include "apptainer/verbs.h"
#include "base/err.h"
#include "base/note.h"
#include "base/own.h"
#include "docker/mount_args.h"
#include "docker/run_args.h"
#include "policy/policy.h"

struct action *action_of(struct args *a)
{
	static_assert(offsetof(struct action, args) == 0, "action_of() is a cast");
	return (struct action *)a;
}

void action_done(struct action *a)
{
	args_done(&a->args);
	list_done(&a->env);
	list_done(&a->file_env);
	list_done(&a->targets);
	own_free(&a->home_source);
	own_free(&a->home);
}

/* --- single flags ------------------------------------------------------------------ */

static int take_contain(struct args *a, const char *value, struct err *e)
{
	(void)value, (void)e;
	action_of(a)->is_contained = true;
	return 0;
}

static int take_writable(struct args *a, const char *value, struct err *e)
{
	(void)value, (void)e;
	action_of(a)->is_writable = true;
	return 0;
}

static int take_writable_memory(struct args *a, const char *value, struct err *e)
{
	(void)value, (void)e;
	action_of(a)->has_writable_memory = true;
	return 0;
}

static int take_compat(struct args *a, const char *value, struct err *e)
{
	(void)take_contain(a, value, e);
	return take_writable_memory(a, value, e);
}

static int take_directory(struct args *a, const char *value, struct err *e)
{
	if (value[0] != '/')
		return err_set(e, ERR_USAGE,
			       "--pwd %.200s: the folder inside is an absolute path",
			       value);
	action_of(a)->directory = value;
	return 0;
}

static int take_no_home(struct args *a, const char *value, struct err *e)
{
	(void)value, (void)e;
	action_of(a)->leaves_home_out = true;
	return 0;
}

static int take_env(struct args *a, const char *value, struct err *e)
{
	return env_args_flag(&action_of(a)->env, value, e);
}

static int take_env_file(struct args *a, const char *value, struct err *e)
{
	return env_args_file(&action_of(a)->file_env, value, e);
}

static int take_shell(struct args *a, const char *value, struct err *e)
{
	(void)e;
	action_of(a)->shell = value;
	return 0;
}

static int take_mount(struct args *a, const char *value, struct err *e)
{
	if (strncmp(value, "type=bind,", 10) != 0 && !strstr(value, ",type=bind"))
		return err_set(e, ERR_UNSUPPORTED,
			       "--mount %.200s: there is type=bind alone", value);
	return mount_args_mount_flag(a, value, e);
}

static int take_net(struct args *a, const char *value, struct err *e)
{
	struct action *action = action_of(a);

	(void)value, (void)e;
	if (!action->network)
		action->network = "bridge";
	return 0;
}

static int take_network(struct args *a, const char *value, struct err *e)
{
	static const char *const names[] = { "none", "bridge", "ptp", "fakeroot",
					     "host" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(names[i], value)) {
			action_of(a)->network = i > 0 && i < 4 ? "bridge" : names[i];
			return 0;
		}
	return err_set(e, ERR_UNSUPPORTED,
		       "--network %.60s: hutch has none, bridge, which reaches public "
		       "hosts, and host",
		       value);
}

static int take_overlay(struct args *a, const char *value, struct err *e)
{
	struct action *action = action_of(a);

	if (action->overlay || strchr(value, ':'))
		return err_set(e, ERR_UNSUPPORTED,
			       "--overlay %.200s: hutch lays one folder over an image, "
			       "to be written to",
			       value);
	if (access(value, F_OK) < 0)
		return err_sys(e, "--overlay %.200s", value);
	action->overlay = value;
	list_add(&a->words, "--upper");
	list_add(&a->words, value);
	return 0;
}

static int take_hostname(struct args *a, const char *value, struct err *e)
{
	if (policy_check_hostname(value, e) < 0)
		return -1;
	list_add(&a->words, "--hostname");
	list_add(&a->words, value);
	return 0;
}

static int take_netns(struct args *a, const char *value, struct err *e)
{
	if (access(value, F_OK) < 0)
		return err_sys(e, "--netns-path %.200s", value);
	list_add(&a->words, "--network");
	list_addf(&a->words, "ns:%s", value);
	action_of(a)->network = "";
	return 0;
}

static int refuse_mount(const char *name, struct err *e)
{
	return err_set(e, ERR_UNSUPPORTED,
		       "--no-mount %.60s: every sandbox of hutch has a /proc and a /dev "
		       "of its own",
		       name);
}

/* All that Apptainer mounts of this host is left out anyway, but for the current
 * folder. */
static int take_no_mount(struct args *a, const char *value, struct err *e)
{
	static const char *const never[] = { "sys",    "home", "tmp",
					     "hostfs", "cwd",  "bind-paths" };
	AUTO_FREE char *copy = text_copy(value);
	char *rest = copy;

	for (char *one = strsep(&rest, ","); one; one = strsep(&rest, ",")) {
		size_t i = 0;
		while (i < ARRAY_LEN(never) && strcmp(never[i], one) != 0)
			i++;
		if (i == ARRAY_LEN(never) && one[0] != '/' &&
		    (!strcmp(one, "proc") || !strncmp(one, "dev", 3)))
			return refuse_mount(one, e);
		if (i == ARRAY_LEN(never) && one[0] != '/')
			return err_set(e, ERR_USAGE,
				       "--no-mount %.60s: there is no such mount", one);
		action_of(a)->leaves_current_out |= !strcmp(one, "cwd");
		action_of(a)->leaves_home_out |= !strcmp(one, "home");
	}
	return 0;
}

/* Apptainer goes on where this host has no such device. */
static int take_devices(const char *flag, const char *device, struct err *e)
{
	if (access(device, F_OK) == 0)
		return err_set(e, ERR_UNSUPPORTED,
			       "%s: GPUs are not supported: hutch shows no device of "
			       "this host inside",
			       flag);
	note_print("note: %s: this host has no %s, so there is nothing to show", flag,
		   device);
	return 0;
}

static int take_nvidia(struct args *a, const char *value, struct err *e)
{
	(void)a, (void)value;
	return take_devices("--nv", "/dev/nvidiactl", e);
}

static int take_rocm(struct args *a, const char *value, struct err *e)
{
	(void)a, (void)value;
	return take_devices("--rocm", "/dev/kfd", e);
}

#define NAMESPACE                                                            \
	"every sandbox of hutch has its own namespaces, and shares none of " \
	"this host's"
#define SETUID "setuid bits have no effect inside"
#define LIMIT  "hutch has no such limit; there are --memory, --cpus and --pids-limit"
#define SWAP   "sandboxes of hutch never swap"
#define FILTER                                                              \
	"every sandbox has hutch's own filter of system calls and none of " \
	"this host's labels; hutch run --seccomp FILE gives another filter"
#define ROOT_ONLY "it is for root of this host, which hutch needs nowhere"
#define DEVICE	  "hutch shows no device of this host inside"

enum {
	ROW_SHELL, /* of the verb shell alone */
	ROW_OTHERS,
};

/* clang-format off */
static const struct arg rows[] = {
	[ROW_SHELL] = { 's', "shell", true, NULL, take_shell, NULL },
	[ROW_OTHERS] = { 'B', "bind", true, NULL, bind_args_flag, NULL },
	{ 0, "mount", true, NULL, take_mount, NULL },
	{ 'H', "home", true, NULL, bind_args_home, NULL },
	{ 0, "no-home", false, NULL, take_no_home, NULL },
	{ 'S', "scratch", true, NULL, bind_args_scratch, NULL },
	{ 'o', "overlay", true, NULL, take_overlay, NULL },
	{ 'w', "writable", false, NULL, take_writable, NULL },
	{ 0, "writable-tmpfs", false, NULL, take_writable_memory, NULL },
	{ 'c', "contain", false, NULL, take_contain, NULL },
	{ 'C', "containall", false, NULL, take_contain, NULL },
	{ 0, "compat", false, NULL, take_compat, NULL },
	{ 0, "no-mount", true, NULL, take_no_mount, NULL },
	{ 0, "env", true, NULL, take_env, NULL },
	{ 0, "env-file", true, NULL, take_env_file, NULL },
	{ 0, "pwd", true, NULL, take_directory, NULL },
	{ 0, "cwd", true, NULL, take_directory, NULL },
	{ 0, "hostname", true, NULL, take_hostname, NULL },
	{ 'n', "net", false, NULL, take_net, NULL },
	{ 0, "network", true, NULL, take_network, NULL },
	{ 0, "netns-path", true, NULL, take_netns, NULL },
	{ 0, "memory", true, NULL, limit_args_memory, NULL },
	{ 0, "cpus", true, NULL, limit_args_cpus, NULL },
	{ 0, "pids-limit", true, NULL, limit_args_pids, NULL },
	{ 0, "add-caps", true, NULL, limit_args_add_caps, NULL },
	{ 0, "drop-caps", true, NULL, limit_args_drop_caps, NULL },
	{ 0, "no-privs", false, NULL, limit_args_no_privs, NULL },
	{ 0, "nv", false, NULL, take_nvidia, NULL },
	{ 0, "nvccli", false, NULL, take_nvidia, NULL },
	{ 0, "rocm", false, NULL, take_rocm, NULL },

	/* always so */
	{ 'e', "cleanenv", false, NULL, NULL, NULL },
	{ 'f', "fakeroot", false, NULL, NULL, NULL },
	{ 'i', "ipc", false, NULL, NULL, NULL },
	{ 'p', "pid", false, NULL, NULL, NULL },
	{ 'u', "userns", false, NULL, NULL, NULL },
	{ 0, "uts", false, NULL, NULL, NULL },
	{ 0, "no-init", false, NULL, NULL, NULL },
	{ 0, "no-umask", false, NULL, NULL, NULL },
	{ 0, "no-eval", false, NULL, NULL, NULL },
	{ 0, "no-nv", false, NULL, NULL, NULL },
	{ 0, "no-rocm", false, NULL, NULL, NULL },
	{ 0, "disable-cache", false, NULL, NULL, NULL },
	{ 0, "unsquash", false, NULL, NULL, NULL },
	{ 0, "underlay", false, NULL, NULL, NULL },
	{ 0, "ignore-subuid", false, NULL, NULL, NULL },
	{ 0, "ignore-fakeroot-command", false, NULL, NULL, NULL },

	VERBS_GLOBAL_FLAGS,
	{ 0, "no-pid", false, NULL, NULL, NAMESPACE },
	{ 0, "ignore-userns", false, NULL, NULL, NAMESPACE },
	{ 0, "sharens", false, NULL, NULL, NAMESPACE },
	{ 0, "security", true, NULL, NULL, FILTER },
	{ 0, "keep-privs", false, NULL, NULL, ROOT_ONLY },
	{ 0, "allow-setuid", false, NULL, NULL, SETUID },
	{ 0, "boot", false, NULL, NULL, ROOT_ONLY },
	{ 0, "apply-cgroups", true, NULL, NULL, LIMIT },
	{ 0, "cpu-shares", true, NULL, NULL, LIMIT },
	{ 0, "cpuset-cpus", true, NULL, NULL, LIMIT },
	{ 0, "cpuset-mems", true, NULL, NULL, LIMIT },
	{ 0, "blkio-weight", true, NULL, NULL, LIMIT },
	{ 0, "blkio-weight-device", true, NULL, NULL, LIMIT },
	{ 0, "memory-reservation", true, NULL, NULL, LIMIT },
	{ 0, "memory-swap", true, NULL, NULL, SWAP },
	{ 0, "oom-kill-disable", false, NULL, NULL, LIMIT },
	{ 0, "network-args", true, NULL, NULL, "hutch has no plugins for networks" },
	{ 0, "dns", true, NULL, NULL, "hutch answers for names; a policy has rules" },
	{ 0, "app", true, NULL, NULL, "hutch knows no apps in an image" },
	{ 'W', "workdir", true, NULL, NULL, "name each folder with --bind" },
	{ 0, "no-env", true, NULL, NULL, "no variable of the caller's goes inside; --env "
		"names those that do" },
	{ 0, "containlibs", true, NULL, NULL, "show each library with --bind" },
	{ 0, "fusemount", true, NULL, NULL, "hutch mounts no FUSE for a command" },
	{ 0, "device", true, NULL, NULL, DEVICE },
	{ 0, "cdi-dirs", true, NULL, NULL, DEVICE },
	{ 0, "compat32", false, NULL, NULL, DEVICE },
	{ 0, "intel-hpu", false, NULL, NULL, DEVICE },
	{ 0, "dmtcp-launch", true, NULL, NULL, "hutch makes no checkpoints" },
	{ 0, "dmtcp-restart", true, NULL, NULL, "hutch makes no checkpoints" },
	{ 0, "runscript-timeout", true, NULL, NULL, "hutch run --timeout has one" },
};
/* clang-format on */

static struct arg_table table_of(const char *verb)
{
	const size_t first = strcmp(verb, "shell") == 0 ? ROW_SHELL : ROW_OTHERS;

	return (struct arg_table){ "apptainer", verb, rows + first,
				   ARRAY_LEN(rows) - first };
}

/* --- reading ----------------------------------------------------------------------- */

bool action_args_help(char **argv, const char *verb, const char *operands)
{
	const struct arg_table table = table_of(verb);

	return args_help(argv, &table, operands);
}

int action_args_read(char ***argv, const char *verb, struct action *a, struct err *e)
{
	const struct arg_table table = table_of(verb);

	if (args_read(argv, &table, &a->args, e) < 0)
		return -1;
	/* As with Apptainer, --writable wins over --writable-tmpfs and --compat. */
	if (a->is_writable && a->overlay)
		return err_set(e, ERR_USAGE,
			       "--writable writes to the folder itself, and excludes "
			       "--overlay");
	return bind_args_show_home(a, e);
}

void action_args_env(const struct action *a, struct list *ret)
{
	env_args_caller(ret);
	for (size_t i = 0; i < a->file_env.count; i++)
		list_set_env(ret, a->file_env.items[i]);
	for (size_t i = 0; i < a->env.count; i++)
		list_set_env(ret, a->env.items[i]);
	if (a->home) {
		AUTO_FREE char *home = text_format("HOME=%s", a->home);
		list_set_env(ret, home);
	}
}

void action_args_add_network(const struct action *a, const char *policy, struct list *ret)
{
	if (policy) {
		list_add(ret, "--policy");
		list_add(ret, policy);
	}
	if (a->network && *a->network)
		run_args_add_network(a->network, ret);
}
