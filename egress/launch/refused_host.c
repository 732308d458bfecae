#include "egress/launch/refused_host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/json/json.h"

void refused_hosts_done(struct refused_hosts *r)
{
	own_free(&r->items);
	r->count = 0;
}

/* --- counted ------------------------------------------------------------------------ */

static enum reason reason_of(const char *word)
{
	for (unsigned i = REASON_NONE + 1; i < REASON_COUNT; i++)
		if (!strcmp(word, reason_word(i)))
			return (enum reason)i;
	return REASON_NO_RULE;
}

static void read_host(const struct json_at *net, struct refused_host *ret)
{
	const char *name = json_member_string(net, "name", "");

	*ret = (struct refused_host){ .port = (uint16_t)json_member_uint(net, "port", 0),
				      .reason = reason_of(
					      json_member_string(net, "reason", "")) };
	(void)snprintf(ret->host, sizeof(ret->host), "%s",
		       *name ? name : json_member_string(net, "address", ""));
	(void)snprintf(ret->rule, sizeof(ret->rule), "%s",
		       json_member_string(net, "rule", ""));
	(void)snprintf(ret->why, sizeof(ret->why), "%s",
		       json_member_string(net, "why", ""));
}

/* Returns the row of that host; the last row, if there is no room. */
static struct refused_host *row_of(struct refused_hosts *r, const struct refused_host *h)
{
	for (size_t i = 0; i < r->count; i++) {
		struct refused_host *row = &r->items[i];
		if (row->port == h->port && row->reason == h->reason &&
		    !strcmp(row->host, h->host))
			return row;
	}
	if (!r->items)
		r->items = mem_zeroed(REFUSED_HOSTS_MAX, sizeof(*r->items));
	if (r->count < REFUSED_HOSTS_MAX - 1) {
		r->items[r->count] = *h;
		return &r->items[r->count++];
	}
	struct refused_host *last = &r->items[REFUSED_HOSTS_MAX - 1];
	r->count = REFUSED_HOSTS_MAX;
	last->reason = h->reason;
	return last;
}

const struct refused_host *refused_hosts_add(struct refused_hosts *r,
					     const struct json_at *net)
{
	struct refused_host host;

	if (strcmp(json_member_string(net, "verdict", ""), "deny") != 0)
		return NULL;
	read_host(net, &host);
	struct refused_host *row = row_of(r, &host);
	row->count += json_member_uint(net, "count", 1);
	return row;
}

void refused_hosts_count(struct refused_hosts *r, const struct refused_host *h)
{
	struct refused_host host = *h;

	host.count = 0;
	row_of(r, &host)->count++;
}

bool refused_host_is_news(const struct refused_host *h)
{
	uint64_t n = h->count;

	while (n && n % 10 == 0)
		n /= 10;
	return n == 1;
}

/* --- words -------------------------------------------------------------------------- */

/* Returns "gist.github.com:443", or the name alone. */
static char *place_of(const struct refused_host *h)
{
	if (!*h->host)
		return text_copy("other hosts");
	if (!h->port)
		return text_copy(h->host);
	return strchr(h->host, ':') ? text_format("[%s]:%u", h->host, h->port)
				    : text_format("%s:%u", h->host, h->port);
}

/* Returns the target of a rule that would allow the host: a rule without a port is about
 * 80 and 443. */
static char *target_of(const struct refused_host *h)
{
	struct refused_host other = *h;

	if (h->port == 80 || h->port == 443)
		other.port = 0;
	return place_of(&other);
}

static bool can_be_allowed(const struct refused_host *h)
{
	return *h->host &&
	       (h->reason == REASON_NO_RULE || h->reason == REASON_PORT ||
		h->reason == REASON_NO_NAME || h->reason == REASON_NOT_ANSWERED);
}

char *refused_host_remedy(const struct refused_host *h)
{
	if (h->reason == REASON_PRIVATE_ADDRESS)
		return text_copy("--allow with the address, or its network, if that is "
				 "meant");
	if (!can_be_allowed(h))
		return text_copy("hutch-net(1) says what is refused, and why");
	AUTO_FREE char *target = target_of(h);
	return text_format("--allow %s", target);
}

static char *cause_of(const struct refused_host *h)
{
	if (!*h->rule || h->reason != REASON_RULE)
		return text_copy(reason_text(h->reason));
	return text_format("the rule deny %s%s%s", h->rule, *h->why ? ": " : "", h->why);
}

char *refused_host_members(const struct refused_host *h)
{
	AUTO_FREE char *place = place_of(h), *cause = cause_of(h);
	AUTO_FREE char *what = text_format("connect to %s", place);
	AUTO_FREE char *remedy = refused_host_remedy(h);
	struct buffer b;

	json_write_begin(&b);
	json_write_text(&b, "what", what);
	json_write_text(&b, "path", NULL);
	json_write_text(&b, "layer", "network");
	json_write_text(&b, "rule", cause);
	json_write_text(&b, "remedy", remedy);
	json_write_number(&b, "count", (int64_t)h->count);
	return json_write_end(&b);
}

char *refused_host_sentence(const struct refused_host *h)
{
	AUTO_FREE char *place = place_of(h), *cause = cause_of(h);
	AUTO_FREE char *times = h->count == 1 ? text_copy("")
					      : text_format(", %llu times",
							    (unsigned long long)h->count);

	return text_format("a connection to %s %s%s (network: %s)", place,
			   h->reason == REASON_UPSTREAM_FAILED ? "failed" : "was refused",
			   times, cause);
}

char *refused_hosts_json(const struct refused_hosts *r)
{
	struct list all = { 0 };

	for (size_t i = 0; i < r->count; i++) {
		AUTO_FREE char *members = refused_host_members(&r->items[i]);
		list_addf(&all, "{%s}", members);
	}
	char *text = list_join(&all, 0, ",");
	list_done(&all);
	return text;
}
