#include "bwrap/options.h"

#include <string.h>

#include "base/err.h"
#include "base/nearest.h"
#include "base/own.h"
#include "bwrap/option_takes.h"

#define FLAG(field_, name_, help_)                                               \
	{                                                                        \
		.name = name_, .operands = "", .help = help_, .take = take_flag, \
		.field = offsetof(struct args, field_), .perms = -1              \
	}
#define VALUE(take_, field_, name_, operands_, help_)                              \
	{                                                                          \
		.name = name_, .operands = operands_, .help = help_, .count = 1,   \
		.take = take_, .field = offsetof(struct args, field_), .perms = -1 \
	}
#define PLAIN(take_, count_, name_, operands_, help_)                                 \
	{                                                                             \
		.name = name_, .operands = operands_, .help = help_, .count = count_, \
		.take = take_, .perms = -1                                            \
	}
#define OP(kind_, take_, count_, name_, operands_, help_, ...)                        \
	{                                                                             \
		.name = name_, .operands = operands_, .help = help_, .count = count_, \
		.take = take_, .kind = kind_, __VA_ARGS__                             \
	}

static const struct option options[] = {
	PLAIN(take_help, 0, "--help", "", "print this help"),
	PLAIN(take_version, 0, "--version", "", "print the version"),
	PLAIN(take_args, 1, "--args", "FD",
	      "read more options, each with a NUL, from FD"),
	VALUE(take_argv0, argv0, "--argv0", "VALUE", "the command's argv[0]"),
	FLAG(level_prefix, "--level-prefix", "begin each message with its level, as <3>"),
	FLAG(dry_run, "--dry-run", "print what would be done (hutch's own option)"),
	PLAIN(take_all, 0, "--unshare-all", "", "new namespaces of every kind"),
	PLAIN(take_share_net, 0, "--share-net", "", "keep the network in spite of it"),
	FLAG(unshare_user, "--unshare-user", "a new user namespace"),
	FLAG(unshare_user_try, "--unshare-user-try", "the same, if there can be one"),
	FLAG(unshare_ipc, "--unshare-ipc", "a new ipc namespace"),
	FLAG(unshare_pid, "--unshare-pid", "a new pid namespace"),
	FLAG(unshare_net, "--unshare-net", "a new network namespace"),
	FLAG(unshare_uts, "--unshare-uts", "a new uts namespace"),
	FLAG(unshare_cgroup, "--unshare-cgroup", "a new cgroup namespace"),
	FLAG(unshare_cgroup_try, "--unshare-cgroup-try", "the same, if there can be one"),
	VALUE(take_fd, userns, "--userns", "FD", "use this user namespace"),
	VALUE(take_fd, userns2, "--userns2", "FD", "enter this one after the set-up"),
	FLAG(disable_userns, "--disable-userns", "allow no user namespaces inside"),
	FLAG(assert_userns_disabled, "--assert-userns-disabled",
	     "fail unless there can be none inside"),
	VALUE(take_fd, pidns, "--pidns", "FD",
	      "use this pid namespace, or a new one below"),
	VALUE(take_id, uid, "--uid", "UID", "the user id inside"),
	VALUE(take_id, gid, "--gid", "GID", "the group id inside"),
	VALUE(take_text, hostname, "--hostname", "NAME", "the host name inside"),
	VALUE(take_text, chdir, "--chdir", "DIR", "the working directory"),
	PLAIN(take_clearenv, 0, "--clearenv", "", "unset all variables"),
	PLAIN(take_setenv, 2, "--setenv", "VAR VALUE", "set a variable"),
	PLAIN(take_unsetenv, 1, "--unsetenv", "VAR", "unset a variable"),
	PLAIN(take_lock, 1, "--lock-file", "DEST", "hold a lock on DEST"),
	VALUE(take_fd, sync, "--sync-fd", "FD",
	      "keep FD open as long as the sandbox lives"),

	OP(OP_BIND, take_op, 2, "--bind", "SRC DEST", "show SRC at DEST", .perms = -1),
	OP(OP_BIND, take_op, 2, "--bind-try", "SRC DEST", "the same, if SRC exists",
	   .perms = -1, .may_be_absent = true),
	OP(OP_BIND, take_op, 2, "--dev-bind", "SRC DEST", "show SRC, devices too",
	   .perms = -1, .has_devices = true),
	OP(OP_BIND, take_op, 2, "--dev-bind-try", "SRC DEST", "the same, if SRC exists",
	   .perms = -1, .has_devices = true, .may_be_absent = true),
	OP(OP_BIND, take_op, 2, "--ro-bind", "SRC DEST", "show SRC read-only",
	   .perms = -1, .is_readonly = true),
	OP(OP_BIND, take_op, 2, "--ro-bind-try", "SRC DEST", "the same, if SRC exists",
	   .perms = -1, .is_readonly = true, .may_be_absent = true),
	OP(OP_BIND_FD, take_fd_op, 2, "--bind-fd", "FD DEST",
	   "show the folder FD at DEST", .perms = -1),
	OP(OP_BIND_FD, take_fd_op, 2, "--ro-bind-fd", "FD DEST", "the same, read-only",
	   .perms = -1, .is_readonly = true),
	OP(OP_REMOUNT_RO, take_op, 1, "--remount-ro", "DEST",
	   "make the one mount at DEST read-only", .perms = -1),
	OP(OP_OVERLAY_SRC, take_overlay_src, 1, "--overlay-src", "SRC",
	   "a layer of the overlay that follows", .perms = -1),
	OP(OP_OVERLAY, take_overlay, 3, "--overlay", "RWSRC WORKDIR DEST",
	   "an overlay that writes to RWSRC", .perms = -1, .sources_min = 1),
	OP(OP_TMP_OVERLAY, take_overlay, 1, "--tmp-overlay", "DEST",
	   "an overlay that writes to memory", .perms = -1, .sources_min = 1),
	OP(OP_RO_OVERLAY, take_overlay, 1, "--ro-overlay", "DEST", "a read-only overlay",
	   .perms = -1, .sources_min = 2),
	PLAIN(take_label, 1, "--exec-label", "LABEL", "not supported"),
	PLAIN(take_label, 1, "--file-label", "LABEL", "not supported"),
	OP(OP_PROC, take_op, 1, "--proc", "DEST", "a procfs", .perms = -1),
	OP(OP_DEV, take_op, 1, "--dev", "DEST", "a new /dev", .perms = -1),
	OP(OP_TMPFS, take_op, 1, "--tmpfs", "DEST", "a tmpfs", .perms = 0755,
	   .takes_perms = true, .takes_size = true),
	OP(OP_MQUEUE, take_op, 1, "--mqueue", "DEST", "message queues", .perms = -1),
	OP(OP_DIR, take_op, 1, "--dir", "DEST", "a folder", .perms = 0755,
	   .takes_perms = true),
	OP(OP_FILE, take_fd_op, 2, "--file", "FD DEST", "a file with the bytes of FD",
	   .perms = 0666, .takes_perms = true),
	/* bwrap once gave these files the mode of mkstemp(3). */
	OP(OP_DATA, take_fd_op, 2, "--bind-data", "FD DEST",
	   "a file with the bytes of FD, mounted over DEST", .perms = 0600,
	   .takes_perms = true),
	OP(OP_DATA, take_fd_op, 2, "--ro-bind-data", "FD DEST", "the same, read-only",
	   .perms = 0600, .takes_perms = true, .is_readonly = true),
	OP(OP_SYMLINK, take_op, 2, "--symlink", "SRC DEST", "a link at DEST to SRC",
	   .perms = -1),
	VALUE(take_seccomp, seccomp, "--seccomp", "FD", "a seccomp program (only one)"),
	PLAIN(take_add_seccomp, 1, "--add-seccomp-fd", "FD",
	      "a seccomp program (may be repeated)"),
	VALUE(take_fd, block, "--block-fd", "FD", "wait until FD is readable, then run"),
	VALUE(take_fd, userns_block, "--userns-block-fd", "FD",
	      "wait until the caller has mapped the ids"),
	VALUE(take_fd, info, "--info-fd", "FD", "write a JSON object about the sandbox"),
	VALUE(take_fd, json_status, "--json-status-fd", "FD",
	      "write JSON objects about its beginning and end"),
	FLAG(is_no_boundary, "--not-a-security-boundary", "accepted, and of no effect"),
	FLAG(new_session, "--new-session", "a new session, without the terminal"),
	FLAG(die_with_parent, "--die-with-parent", "kill the command if the caller ends"),
	FLAG(as_pid_1, "--as-pid-1", "the command is pid 1 itself"),
	PLAIN(take_cap_add, 1, "--cap-add", "CAP",
	      "give the command a capability, or ALL"),
	PLAIN(take_cap_drop, 1, "--cap-drop", "CAP", "take one away, or ALL"),
	PLAIN(take_perms, 1, "--perms", "OCTAL",
	      "the mode of what the next option makes"),
	PLAIN(take_size, 1, "--size", "BYTES", "the size of the next option's tmpfs"),
	OP(OP_CHMOD, take_chmod, 2, "--chmod", "OCTAL PATH", "change the mode of PATH",
	   .perms = -1),
};

const struct option *options_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		if (!strcmp(options[i].name, name))
			return &options[i];
	return NULL;
}

int options_unknown(const char *word, struct err *e)
{
	struct nearest n;

	(void)err_set(e, ERR_USAGE, "Unknown option %.60s", word);
	nearest_init(&n, word, strlen(word));
	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		nearest_try(&n, options[i].name);
	return nearest_suggest(&n, "", e);
}

static int check_operands(const struct option *o, char **words, struct err *e)
{
	static const char *const counts[] = { "", "an argument", "two arguments",
					      "three arguments" };

	for (unsigned n = 0; n < o->count; n++)
		if (!words[n])
			return err_set(e, ERR_USAGE, "%s takes %s", o->name,
				       counts[o->count]);
	return 0;
}

/* Checks that a pending modifier was taken by this option. */
static int check_modifiers(const struct reader *r, const struct option *o, struct err *e)
{
	const bool is_modifier = o->take == take_perms || o->take == take_size;

	if (!is_modifier && r->perms >= 0)
		return err_set(
			e, ERR_USAGE,
			"--perms must be followed by an option that creates a file");
	if (!is_modifier && r->size != 0)
		return err_set(e, ERR_USAGE, "--size must be followed by --tmpfs");
	if (o->take != take_overlay_src && r->sources > 0)
		return err_set(e, ERR_USAGE,
			       "--overlay-src must be followed by another --overlay-src "
			       "or one of --overlay, --tmp-overlay, or --ro-overlay");
	return 0;
}

static int take(struct reader *r, const struct option *o, char **words, struct err *e)
{
	r->option = o;
	r->words = words;
	return o->take(r, e);
}

int options_parse(struct reader *r, char ***words, struct err *e)
{
	char **at = *words;

	while (*at && **at == '-' && r->args->wish == ARGS_RUN) {
		const char *word = *at++;
		if (!strcmp(word, "--"))
			break;
		const struct option *o = options_find(word);
		if (!o)
			return options_unknown(word, e);
		if (check_operands(o, at, e) < 0 || take(r, o, at, e) < 0 ||
		    check_modifiers(r, o, e) < 0)
			return -1;
		at += o->count;
	}
	*words = at;
	return 0;
}

void options_print(FILE *to)
{
	for (size_t i = 0; i < ARRAY_LEN(options); i++) {
		char left[40];
		(void)snprintf(left, sizeof(left), "%s%s%s", options[i].name,
			       *options[i].operands ? " " : "", options[i].operands);
		(void)fprintf(to, "    %-28s %s\n", left, options[i].help);
	}
}
