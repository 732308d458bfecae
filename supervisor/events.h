/* events -- the events of a sandbox, in order, so that clients can also ask for earlier
 * ones.
 *
 * The last EVENTS_KEPT events are kept, each as the text of a notification's params
 * (docs/control.md). */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define EVENTS_KEPT 1024

struct events {
	char *kept[EVENTS_KEPT]; /* owned; event number n is at index n % EVENTS_KEPT */
	uint64_t next;		 /* the number of the next event */
};

void events_done(struct events *ev);

/* Adds an event.  `more`: further members of its JSON object, without braces; "": none.
 * Returns the event's text. */
const char *events_add(struct events *ev, const char *name, const char *more);

/* Returns the text of event number n; NULL: it is not kept any more. */
const char *events_get(const struct events *ev, uint64_t n);

/* events_now() returns the present time in milliseconds since 1970; events_time()
 * returns such a time in the format of RFC 3339, allocated. */
int64_t events_now(void);
char *events_time(int64_t ms);
