/* options -- the flags of the verbs that start commands, as docker spells them. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct err;
struct policy;
struct settings;

/* Whose flags these are. */
enum verb {
	VERB_RUN = 1,
	VERB_ACT = 2,
	VERB_CREATE = 4,
	VERB_EXEC = 8,
	VERB_SHELL = 16,
	VERB_FORK = 32,
	VERB_WHY = 64,
	VERB_START = 128
};

struct run_options {
	enum verb verb;
	struct policy *policy; /* filled in */
	bool is_dry_run;
	bool wants_help;
	char *learn; /* --learn: the file, owned; NULL: nothing is learned */
	bool streams; /* --stream */
	bool confirms; /* --confirm */
	uint64_t ttl_ms, idle_ms, sample_ms; /* of hutch create; 0: none */
	bool detaches; /* --detach */
	int lease_fd; /* of hutch create; 0: none */
	int json_fd; /* -1: no result object; 2: the last line of stderr */
	struct settings *kept; /* set before: what --policy names is put there, owned */
	bool notes;	       /* set before: what flags say too */
	struct settings *settings; /* while flags are read: what --policy names */
	bool is_late;		   /* the same: it has been applied */
};

/* Reads flags until the first word that is none, or "--"; the rest is the
 * command, and of some verbs a name before that.  `argv` starts behind the verb.
 * What --policy names comes first, wherever it stands: flags win.
 * Values are checked here as far as each goes alone; policy_check() sees them
 * together. */
int options_parse(char **argv, struct run_options *ret, struct err *e);

/* As if they were flags.  What `ret->verb` has no flag for is passed over. */
int options_apply(struct run_options *ret, const struct settings *s, struct err *e);

/* Every flag with its argument and a line about it. */
void options_print_help(enum verb verb);
