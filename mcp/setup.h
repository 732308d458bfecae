/* setup -- the command line of hutch-mcp: how its sandboxes are made, and its tools.
 *
 * The names of all sandboxes that a command line makes begin with a digest of that
 * command line and of the working directory.  So a server that is started again finds
 * them, and a model can name none but these: not those of another server, which may be
 * allowed more, and not the user's own. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

struct err;

#define SETUP_SUFFIX_MAX    32 /* bytes of a name that a model chooses */
#define SETUP_SANDBOXES_MAX 32 /* that a server's models may have at a time */

struct setup {
	char *hutch;	     /* owned: the program `hutch` */
	struct list options; /* owned: those of hutch create */
	char *prefix;	     /* owned: "mcp-" and a digest */
	char *name;	     /* owned: the name of the default sandbox */
	uint32_t tools;	     /* the tools that are offered, a bit for each row of
			      * tools.h */
	bool wants_help;
};

/* Reads the words behind the verb.  setup_done() releases *ret in any case. */
int setup_parse(struct setup *ret, char **argv, struct err *e);
void setup_done(struct setup *s);
void setup_print_help(void);

/* Returns whether a client may name this sandbox, or this snapshot of one. */
bool setup_has_sandbox(const struct setup *s, const char *name);
bool setup_has_snapshot(const struct setup *s, const char *reference);

/* Returns the name of a further sandbox, allocated: with the suffix, or with a random one
 * if that is NULL.  NULL, with an error: the suffix is wrong. */
char *setup_new_name(const struct setup *s, const char *suffix, struct err *e);

/* Fills in the words for making a sandbox: the options, of which `hutch fork` takes all
 * but those of the image, and the names. */
void setup_words(const struct setup *s, const char *source, const char *name,
		 struct list *ret);
