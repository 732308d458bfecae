/* publish -- a port inside that leads out: `-p [IP:]HOST:GUEST`.
 *
 *	8080:80			127.0.0.1:8080 leads to port 80 inside
 *	0.0.0.0:8080:80		whoever reaches this host may connect
 *	[::1]:8080:80		an IPv6 address stands in brackets
 *	auto:80			a free port of PUBLISH_LOW to PUBLISH_HIGH
 *	8000-8099:80		a free port of these
 *	/run/app.sock:80	a unix socket, of its owner alone */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct policy;

/* What `auto` takes from: where the reference puts what an agent serves. */
#define PUBLISH_LOW  50000
#define PUBLISH_HIGH 59999
/* Of one sandbox, for all its life at a time. */
#define PUBLISH_MAX 64

struct publish {
	char *address;	    /* owned; without brackets; NULL: a unix socket */
	char *path;	    /* owned; absolute; NULL: TCP */
	char *folder;	    /* owned; the path's, without links: follow none; NULL: not known */
	uint16_t low, high; /* equal: that port and no other */
	uint16_t guest;
	char *from; /* owned: "-p 8080:80" */
};

/* The word behind -p, borrowed. */
const char *publish_word(const struct publish *p);

/* One of the forms above.  On failure there is nothing to release. */
int publish_parse(const char *word, struct publish *ret, struct err *e);
void publish_done(struct publish *p);

/* The same, into the policy. */
int publish_add(struct policy *p, const char *word, struct err *e);

/* With what a port cannot be published. */
int publish_check(const struct policy *p, struct err *e);
