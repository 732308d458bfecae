/* verbs -- what the verbs of hutch-oci share: one function each, and the global flags. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "oci/cgroups.h"
#include "oci/init.h"
#include "oci/state.h"

struct err;

#define VERBS_FDS 1024 /* as many may be preserved */

struct globals {
	const char *root; /* the folder of the containers' state */
	const char *log;  /* the file for errors; NULL: stderr alone */
	bool is_log_json;
	uint64_t inherited[VERBS_FDS /
			   64]; /* bits: descriptors, from 3 on, that the caller left
					     * open; only with --preserve-fds or LISTEN_FDS */
	enum cgroups_manager manager;
};

/* The flags of create and run. */
struct create_flags {
	const char *bundle, *config, *console, *pid_file;
	const char *preserve; /* a number */
	bool keeps_root, has_old_keyring;
	bool is_detached; /* run: --detach; create: always */
	bool keeps;	  /* run: --keep */
};

/* A container that waits for its start. */
struct created {
	struct state state;
	int master; /* owned: the terminal of a verb that stays; -1: none */
};

/* Makes a container.  On failure nothing is left of it. */
int create_container(const struct globals *g, const struct create_flags *f,
		     const char *id, struct created *ret, struct err *e);
/* Starts the command of a created container. */
int start_container(struct state *s, struct err *e);
/* Removes a container that has ended; with `is_forced` ends it first.  Runs poststop
 * hooks, whose failure is only logged. */
int delete_container(struct state *s, bool is_forced, struct err *e);

/* Writes a pid file in one step. */
int create_pid_file(const char *path, pid_t pid, struct err *e);
/* Reads --preserve-fds and LISTEN_FDS into the descriptors to hand on: of these numbers those
 * that the caller has left open. */
int create_preserved(const struct globals *g, const char *text, struct preserved *ret,
		     struct err *e);

/* The verbs: each gets the words behind its name, and returns the exit code, or -1 with
 * the error. */
int create_verb(const struct globals *g, char **argv, struct err *e);
int run_verb(const struct globals *g, char **argv, struct err *e);
int start_verb(const struct globals *g, char **argv, struct err *e);
int state_verb(const struct globals *g, char **argv, struct err *e);
int kill_verb(const struct globals *g, char **argv, struct err *e);
int delete_verb(const struct globals *g, char **argv, struct err *e);
int exec_verb(const struct globals *g, char **argv, struct err *e);
int list_verb(const struct globals *g, char **argv, struct err *e);
int ps_verb(const struct globals *g, char **argv, struct err *e);
int pause_verb(const struct globals *g, char **argv, struct err *e);
int resume_verb(const struct globals *g, char **argv, struct err *e);
int update_verb(const struct globals *g, char **argv, struct err *e);
int events_verb(const struct globals *g, char **argv, struct err *e);
int features_verb(const struct globals *g, char **argv, struct err *e);
int spec_verb(const struct globals *g, char **argv, struct err *e);
int checkpoint_verb(const struct globals *g, char **argv, struct err *e);
