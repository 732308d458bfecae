/* answers -- an action is done once, however often it is sent.
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

#define ANSWERS_KEPT	64
#define ANSWERS_BYTES	(8u << 20)
#define ANSWERS_CLIENTS 64

enum answer_state {
	ANSWER_NEW,	    /* to be done */
	ANSWER_UNDER_WAY,   /* to be answered when the action ends */
	ANSWER_KEPT,	    /* *ret_line is the answer */
	ANSWER_OTHER_BODY,  /* the same key, another line */
	ANSWER_TOO_OLD,
	ANSWER_TOO_MANY	    /* more than ANSWERS_CLIENTS clients */
};

struct answers;

struct answers *answers_new(void);
void answers_free(struct answers *a);

/* Looks up the action that this line asks for.  A NEW action counts as under
 * way from here on. */
enum answer_state answers_look(struct answers *a, const struct action *action,
			       const char *line, size_t len, const char **ret_line);

/* The client of this name sends nothing more: drops its entries. */
void answers_forget(struct answers *a, const char *client);

/* The action has ended: keeps a copy of its observation. */
void answers_keep(struct answers *a, const struct action *action, const char *line,
		  size_t len);
