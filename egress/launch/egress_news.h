/* egress_news -- what hutch-egress says, one line of JSON at a time
 * (supervisor_link.h has the lines).
 *
 *	egress_fill	when egress_fd() is readable
 *	egress_next	until it returns false
 *
 * hutch-egress reads no byte of the sandbox's but frames, yet its lines hold names that
 * the inside has composed; so each line is bounded and parsed, and a line that is none
 * counts as the end of hutch-egress. */
#pragma once
#include <stdbool.h>

#include "policy/json/json.h"

struct egress;

enum egress_news_kind {
	EGRESS_NEWS_NET,  /* a decision: `value` has the members of net_line.h */
	EGRESS_NEWS_ASK,  /* a question */
	EGRESS_NEWS_SAID, /* any other line: `value` is all of it */
	EGRESS_NEWS_LOST  /* hutch-egress or hutch-gate has ended, so that no connection
			   * is made any more; comes once */
};

struct egress_news {
	enum egress_news_kind kind;
	char *line;	  /* owned, as `doc` is: egress_news_done() */
	struct json *doc;
	struct json_at value;
};

/* Returns the descriptor to watch for reading; -1: there is none. */
int egress_fd(const struct egress *x);

/* Reads what has come. */
void egress_fill(struct egress *x);

/* Takes the next line.  Returns false if there is none; else *ret has to be freed. */
bool egress_next(struct egress *x, struct egress_news *ret);
void egress_news_done(struct egress_news *n);
