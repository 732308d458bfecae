/* options -- the flags of the verbs that start commands, as docker spells them. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "policy/restart_rule.h"

struct err;
struct option;
struct policy;
struct policy_file;

/* The verbs that take these flags; each is one bit, so that a flag can belong to
 * several. */
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
	struct policy *policy; /* filled in by the flags */
	bool is_dry_run;
	bool wants_help;
	char *learn; /* --learn: the file, owned; NULL: nothing is learned */
	bool streams; /* --stream */
	bool confirms; /* --confirm */
	uint64_t ttl_ms, idle_ms, sample_ms; /* flags of hutch create, in ms; 0: not
					      * given */
	bool has_main;	     /* --main: the words behind "--" are its main process's */
	bool leaves_nothing; /* --rm of hutch create */
	struct restart_rule restart; /* --restart */
	int stop_signal;	     /* --stop-signal; 0: not given */
	bool has_stop_timeout;	     /* --stop-timeout was given; 0 is a value */
	uint64_t stop_timeout_ms;
	bool has_entrypoint_flag; /* --entrypoint was given as a flag: a policy may have it
				   * for other verbs */
	bool detaches; /* --detach */
	bool has_dashes; /* "--" stood behind the flags */
	int lease_fd; /* of hutch create: the socket whose end ends the sandbox (--lease);
		       * 0: not given */
	int json_fd; /* the descriptor for the result object; -1: no object is written;
		      * 2: it is the last line of stderr */
	struct policy_file *kept; /* set by the caller: gets the settings of --policy,
			        * owned; NULL: not kept */
	bool notes;	       /* set by the caller: flags are added to `kept`, too */
	struct policy_file *settings; /* private: the settings that --policy has given
				       * while flags are read */
	/* private: the last flag and its value, borrowed, if that was a word of its own;
	 * NULL: it was not */
	const struct option *known; /* the flag of two dashes that was read last */
	const char *last_flag, *last_value;
	bool is_late;		   /* private: the settings of --policy have been
				    * applied */
};

/* Reads flags until the first word that is no flag, or "--"; the other words are the
 * command, after the name that some verbs take.  `argv` begins after the verb.  The
 * policies of --policy are applied first, wherever the flag stands: other flags
 * override them.  Each value is checked alone; policy_check() checks all of them
 * together. */
int options_parse(char **argv, struct run_options *ret, struct err *e);

/* Applies settings as if they were flags.  A setting that `ret->verb` has no
 * flag for is skipped. */
int options_apply(struct run_options *ret, const struct policy_file *s, struct err *e);

/* Fills in the error that the verb was not given its operand, such as "NAME".  Returns
 * -1. */
int options_missing(const char *verb, const char *operand, struct err *e);

/* Prints every flag with its argument and a line of help. */
void options_print_help(enum verb verb);
