/* events -- what has happened, in order, for who asks now and who asks later.
 *
 * The last EVENTS_KEPT are kept, each as the text that stands in a notification's
 * params (docs/control.md). */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define EVENTS_KEPT 1024

struct events {
	char *kept[EVENTS_KEPT]; /* owned; number n is at n % EVENTS_KEPT */
	uint64_t next;		 /* the number of the next one */
};

void events_done(struct events *ev);

/* Adds one: `name`, and `more`, further members of its object without braces, or
 * "".  Returns its text. */
const char *events_add(struct events *ev, const char *name, const char *more);

/* The text of number n, or NULL where it is not kept. */
const char *events_get(const struct events *ev, uint64_t n);

/* Milliseconds since 1970, and such a time as RFC 3339 has it, allocated. */
int64_t events_now(void);
char *events_time(int64_t ms);
