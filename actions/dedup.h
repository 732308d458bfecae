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
	ANSWER_NEW,	    /* a new action, to be done */
	ANSWER_UNDER_WAY,   /* a repeat, to be answered when the action ends */
	ANSWER_KEPT,	    /* a repeat of an action that was done: ret_line is the
			     * answer */
	ANSWER_OTHER_BODY,  /* another action has this client, id and timestamp */
	ANSWER_TOO_OLD,
	ANSWER_TOO_MANY	    /* the action comes from one client more than DEDUP_CLIENTS */
};

struct dedup;

struct dedup *dedup_new(void);
void dedup_free(struct dedup *a);

/* Looks up whether the action was asked for before.  From here on an ANSWER_NEW action
 * counts as under way. */
enum answer_state dedup_look(struct dedup *a, const struct action *action,
			       const char *line, size_t len, const char **ret_line);

/* Drops the entries of a client that sends nothing more. */
void dedup_forget(struct dedup *a, const char *client);

/* Called when an action has ended: keeps a copy of its observation for repeats. */
void dedup_keep(struct dedup *a, const struct action *action, const char *line,
		  size_t len);
