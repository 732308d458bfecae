/* resolver -- looks names up upstream, by c-ares, without ever blocking.
 *
 * c-ares reads /etc/resolv.conf once, in resolver_new(), before the process is confined;
 * the process opens no file later.  /etc/hosts is hosts_file.h's.  The name is asked for
 * as it is: no search domain, no alias of the environment, no numeric form.  A and AAAA
 * are asked for at the same time, aliases are followed by the server and by c-ares.
 *
 * An alias that is no host name is left out of the answer. */
#pragma once
#include <stdint.h>

#include "egress/resolved.h"

struct err;
struct resolver;

/* Is called once for each resolver_ask(), perhaps before that returns. */
typedef void resolver_told(void *context, const struct resolved *r);

/* Sockets are watched in `epoll` with `mark` | descriptor as their data. */
struct resolver *resolver_new(int epoll, uint64_t mark, struct err *e);
/* Questions that are open are answered with RESOLVED_FAILED. */
void resolver_free(struct resolver *r);

void resolver_ask(struct resolver *r, const char *name, resolver_told *told,
		  void *context);

/* Handles what epoll(7) has reported of a descriptor. */
void resolver_ready(struct resolver *r, int fd, uint32_t events);

/* Handles time-outs of c-ares, which has a clock of its own. */
void resolver_tick(struct resolver *r);
/* Returns how many ms may pass before resolver_tick(); -1: no question is open. */
int resolver_wait(struct resolver *r);
