/* dedup -- does an action only once, however often a client sends it.
 *
 * An action with an id is identified by (client, id, timestamp). A repeat that comes
 * while the action runs is answered when the action ends; a later repeat gets the kept
 * answer. The last 64 answers are kept, or fewer if they exceed 8 MiB. An action whose
 * id and timestamp are both no larger than those of dropped answers is refused, since
 * hutch can no longer tell whether it was done before. */
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
	ANSWER_KEPT,	    /* a repeat of an action that was done: *ret_line is its
			     * answer */
	ANSWER_OTHER_BODY,  /* an action with this client, id and timestamp came before,
			     * but with other content */
	ANSWER_TOO_OLD,
	ANSWER_TOO_MANY	    /* there are already DEDUP_CLIENTS other clients */
};

struct dedup;

struct dedup *dedup_new(void);
void dedup_free(struct dedup *a);

/* Looks up whether the action came before. An action for which this returns ANSWER_NEW
 * counts as running from then on. */
enum answer_state dedup_look(struct dedup *a, const struct action *action,
			       const char *line, size_t len, const char **ret_line);

/* Drops all entries of a client that will send nothing more. */
void dedup_forget(struct dedup *a, const char *client);

/* Called when an action has ended: keeps a copy of its answer for repeats. */
void dedup_keep(struct dedup *a, const struct action *action, const char *line,
		  size_t len);
