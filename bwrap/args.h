/* args -- the command line of bwrap as data.
 *
 *	args_init, args_parse, (args_check | args_print_help), args_done
 *
 * The options are rows of a table (options.h).  Those about files become operations, in
 * the order of the command line, since each operation sees what the ones before it made;
 * steps.h turns them into a plan.  --setenv and its kin change the environment of this
 * process at once.  Texts of errors are bwrap's own wherever a program may look for
 * them. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/list.h"
#include "bwrap/filters.h"

struct err;

/* The most words of one command line, with those that --args reads. */
#define ARGS_MAX 9000

enum op_kind {
	OP_BIND,    /* --bind, --ro-bind, --dev-bind and their -try forms */
	OP_BIND_FD, /* --bind-fd and --ro-bind-fd */
	OP_REMOUNT_RO,
	OP_OVERLAY_SRC, /* stands before the overlay that it belongs to */
	OP_OVERLAY,
	OP_TMP_OVERLAY,
	OP_RO_OVERLAY,
	OP_PROC,
	OP_DEV,
	OP_TMPFS,
	OP_MQUEUE,
	OP_DIR,
	OP_FILE,
	OP_DATA, /* --bind-data and --ro-bind-data */
	OP_SYMLINK,
	OP_CHMOD,
	OP_KIND_COUNT
};

struct op {
	enum op_kind kind;
	const char *option; /* static: the option's name, such as "--bind" */
	char *const *words; /* borrowed: the option's operands */
	const char
		*target; /* borrowed: the last of them, a path inside; of OP_OVERLAY_SRC
			     * a host path */
	int fd;		 /* the descriptor that an operand names, owned by the caller of
			     * bwrap until steps_make() takes it; -1: none */
	bool is_readonly, has_devices, may_be_absent; /* OP_BIND */
	int perms;	/* the value of --perms, or the option's default; -1: none */
	size_t size;	/* the value of --size; 0: none */
	size_t sources; /* overlays: how many OP_OVERLAY_SRC stand before this one */
};

enum args_wish { ARGS_RUN, ARGS_HELP, ARGS_VERSION };

struct args {
	enum args_wish wish;
	struct op *ops; /* owned */
	size_t op_count, op_room;

	bool unshare_user, unshare_user_try, unshare_ipc, unshare_pid, unshare_net,
		unshare_uts, unshare_cgroup, unshare_cgroup_try;
	bool disable_userns, assert_userns_disabled;
	bool new_session, is_no_boundary, die_with_parent, as_pid_1, level_prefix,
		dry_run;
	const char *chdir, *argv0, *hostname; /* borrowed; NULL: not given */
	/* borrowed: descriptors of the caller's; -1: not given */
	int userns, userns2, pidns, block, userns_block, info, json_status, sync, seccomp;
	int64_t uid, gid;  /* the ids inside; -1: the caller's own */
	struct list locks; /* the operands of --lock-file */
	uint64_t caps;	   /* the capabilities of the command; args_init() gets root's */
	bool has_caps;	   /* --cap-add or --cap-drop was given */
	struct filters filters; /* those of --add-seccomp-fd */
	char **command;		/* borrowed: the command and its operands */

	struct list warnings; /* sentences for the user */
	char **data;	      /* owned: what --args read, which words point into */
	char ***data_words;   /* owned: the words of each */
	size_t data_count;
};

/* `caps`: the capabilities that the command has unless an option changes them. */
void args_init(struct args *a, uint64_t caps);
void args_done(struct args *a);

/* Parses the words behind the program's name.  Reads the descriptors of --args and
 * --add-seccomp-fd to their ends, and closes them. */
int args_parse(struct args *a, char **words, struct err *e);

/* Checks that the options agree with each other. */
int args_check(const struct args *a, struct err *e);

void args_print_help(const char *self, FILE *to);
