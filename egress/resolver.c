#include "egress/resolver.h"

#include <ares.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/err.h"

/* A server has 2.5 s, and 5 s at its second time, so that one that answers late is heard
 * and one that does not is left before lookups.h gives up. */
#define TRY_MS 2500
#define TRIES  2

struct resolver {
	ares_channel channel; /* owned */
	int epoll;	      /* borrowed */
	uint64_t mark;
};

struct question {
	resolver_told *told;
	void *context;
};

static void watch(void *context, ares_socket_t fd, int is_readable, int is_writable)
{
	const struct resolver *r = context;
	struct epoll_event event = {
		.events = (is_readable ? EPOLLIN : 0u) | (is_writable ? EPOLLOUT : 0u),
		.data.u64 = r->mark | (uint32_t)fd,
	};

	if (!event.events)
		(void)epoll_ctl(r->epoll, EPOLL_CTL_DEL, fd, NULL); /* fails if it was
								     * never added */
	else if (epoll_ctl(r->epoll, EPOLL_CTL_MOD, fd, &event) < 0)
		(void)epoll_ctl(r->epoll, EPOLL_CTL_ADD, fd, &event); /* on failure the
								       * question has its
								       * time-out */
}

struct resolver *resolver_new(int epoll, uint64_t mark, struct err *e)
{
	char lookups[] = "b"; /* DNS alone */
	struct resolver *r = calloc(1, sizeof(*r));
	if (!r)
		abort();
	struct ares_options options = {
		.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES,
		.timeout = TRY_MS,
		.tries = TRIES,
		.lookups = lookups,
		.sock_state_cb = watch,
		.sock_state_cb_data = r,
	};
	const int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES |
			 ARES_OPT_LOOKUPS | ARES_OPT_SOCK_STATE_CB;

	r->epoll = epoll;
	r->mark = mark;
	int status = ares_init_options(&r->channel, &options, mask);
	if (status != ARES_SUCCESS) {
		(void)err_set(e, ERR_SYSTEM, "start the resolver: %s",
			      ares_strerror(status));
		free(r);
		return NULL;
	}
	return r;
}

void resolver_free(struct resolver *r)
{
	if (!r)
		return;
	ares_destroy(r->channel);
	free(r);
}

static enum resolved_status status_of(int status, const struct resolved *r)
{
	switch (status) {
	case ARES_SUCCESS:
		return r->count ? RESOLVED_FOUND : RESOLVED_EMPTY;
	case ARES_ENODATA:
		return RESOLVED_EMPTY;
	case ARES_ENOTFOUND:
		return RESOLVED_NXDOMAIN;
	default:
		return RESOLVED_FAILED;
	}
}

static void take_addresses(struct resolved *r, const struct ares_addrinfo *found)
{
	struct address a;

	r->ttl = UINT32_MAX;
	for (const struct ares_addrinfo_node *n = found->nodes; n; n = n->ai_next) {
		if (!address_from_sockaddr(n->ai_addr, n->ai_addrlen, &a))
			continue;
		resolved_add(r, &a);
		if (n->ai_ttl >= 0 && (uint32_t)n->ai_ttl < r->ttl)
			r->ttl = (uint32_t)n->ai_ttl;
	}
}

static void take_cname(struct resolved *r, const struct ares_addrinfo *found)
{
	for (const struct ares_addrinfo_cname *c = found->cnames; c; c = c->next)
		if (c->name)
			(void)host_name_read(&r->cname, c->name, strlen(c->name)); /* on
				failure the alias before it stays */
}

static void answered(void *context, int status, int timeouts, struct ares_addrinfo *found)
{
	struct question *q = context;
	struct resolved r = { .status = RESOLVED_FAILED };

	(void)timeouts;
	if (found) {
		take_addresses(&r, found);
		take_cname(&r, found);
	}
	r.status = status_of(status, &r);
	ares_freeaddrinfo(found);
	q->told(q->context, &r);
	free(q);
}

void resolver_ask(struct resolver *r, const char *name, resolver_told *told,
		  void *context)
{
	/* Sorting would make a socket for each address (RFC 6724). */
	const struct ares_addrinfo_hints hints = { .ai_flags = ARES_AI_NOSORT,
						   .ai_family = AF_UNSPEC,
						   .ai_socktype = SOCK_STREAM };
	struct question *q = malloc(sizeof(*q));

	if (!q)
		abort();
	*q = (struct question){ told, context };
	ares_getaddrinfo(r->channel, name, NULL, &hints, answered, q);
}

void resolver_ready(struct resolver *r, int fd, uint32_t events)
{
	const bool is_bad = events & (EPOLLERR | EPOLLHUP);

	ares_process_fd(r->channel, is_bad || (events & EPOLLIN) ? fd : ARES_SOCKET_BAD,
			is_bad || (events & EPOLLOUT) ? fd : ARES_SOCKET_BAD);
}

void resolver_tick(struct resolver *r)
{
	ares_process_fd(r->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
}

int resolver_wait(struct resolver *r)
{
	struct timeval left;

	if (!ares_timeout(r->channel, NULL, &left))
		return -1;
	/* Rounded up, so that the loop does not turn just before the time. */
	return (int)(left.tv_sec * 1000 + left.tv_usec / 1000 + 1);
}
