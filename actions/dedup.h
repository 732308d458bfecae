/* dedup -- an action is done once, however often it is sent.
 *
 * An action with an id is identified by (client, id, timestamp).  A repeat that
 * comes while the action runs is answered when the action ends; a later repeat
 * gets the kept answer.  The last 64 answers are kept, or 8 MiB of them.  An
 * action whose id and timestamp are both no larger than those of dropped
 * answers is refused, since hutch can no longer tell whether it was done: no
 * action is done twice. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct action;

#define DEDUP_KEPT	64
#define DEDUP_BYTES	(8u << 20)
#define DEDUP_CLIENTS 64

enum answer_state {
	ANSWER_NEW,	    /* to be done */
	ANSWER_UNDER_WAY,   /* to be answered when the action ends */
	ANSWER_KEPT,	    /* *ret_line is the answer */
	ANSWER_OTHER_BODY,  /* the same key, another line */
	ANSWER_TOO_OLD,
	ANSWER_TOO_MANY	    /* more than DEDUP_CLIENTS clients */
};

struct dedup;

struct dedup *dedup_new(void);
void dedup_free(struct dedup *a);

/* Looks up the action that this line asks for.  A NEW action counts as under
 * way from here on. */
enum answer_state dedup_look(struct dedup *a, const struct action *action,
			       const char *line, size_t len, const char **ret_line);

/* The client of this name sends nothing more: drops its entries. */
void dedup_forget(struct dedup *a, const char *client);

/* The action has ended: keeps a copy of its observation. */
void dedup_keep(struct dedup *a, const struct action *action, const char *line,
		  size_t len);
