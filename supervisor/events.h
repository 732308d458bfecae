/* events -- what has happened, in order, for clients that ask now and clients
 * that ask later.
 *
 * The last EVENTS_KEPT are kept, each as the text of a notification's params
 * (docs/control.md). */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define EVENTS_KEPT 1024

struct events {
	char *kept[EVENTS_KEPT]; /* owned; event n is at n % EVENTS_KEPT */
	uint64_t next;		 /* the number of the next event */
};

void events_done(struct events *ev);

/* Adds an event: `name`, and `more`, further members of its object without
 * braces, or "".  Returns its text. */
const char *events_add(struct events *ev, const char *name, const char *more);

/* Returns the text of event number n, or NULL where it is not kept. */
const char *events_get(const struct events *ev, uint64_t n);

/* These return the present time in milliseconds since 1970, and such a time as RFC
 * 3339 writes it, allocated. */
int64_t events_now(void);
char *events_time(int64_t ms);
