/* answers -- an action is done once, however often it is sent.
 *
 * An action with an id is known by (client, id, timestamp).  Sent again while it
 * runs, it is answered when it has ended; sent again later, it gets the kept
 * answer.  Kept are the last 64 answers or 8 MiB of them.  What has
 * neither a later timestamp nor a larger id than all that was let go of is refused,
 * since whether it was done can no longer be told: so nothing is done twice. */
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
	ANSWER_UNDER_WAY,   /* to be answered when it has ended */
	ANSWER_KEPT,	    /* *ret_line is the answer */
	ANSWER_OTHER_BODY,  /* the same key, another line */
	ANSWER_TOO_OLD,
	ANSWER_TOO_MANY	    /* clients */
};

struct answers;

struct answers *answers_new(void);
void answers_free(struct answers *a);

/* What is known of the action whose line this is.  NEW ones are remembered as
 * under way from here on. */
enum answer_state answers_look(struct answers *a, const struct action *action,
			       const char *line, size_t len, const char **ret_line);

/* Nobody of this name will ask again: what is known of it is let go of. */
void answers_forget(struct answers *a, const char *client);

/* The action has ended; its observation is copied. */
void answers_keep(struct answers *a, const struct action *action, const char *line,
		  size_t len);
