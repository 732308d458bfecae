#include "policy/extra_host.h"

#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/egress/egress_rules.h"
#include "policy/policy.h"

static int is_wrong(const char *word, struct err *e)
{
	(void)err_set(e, ERR_USAGE,
		      "--add-host takes NAME:ADDRESS or NAME:host-gateway, not '%.100s'",
		      word);
	return err_remedy(e, "db:10.0.0.5 is a line of /etc/hosts inside; "
			     "db:host-gateway is this host's loopback, at the ports of "
			     "--allow @host:PORT");
}

static bool read_address(const char *text, struct address *ret)
{
	const size_t len = strlen(text);
	const bool is_bracketed = len > 2 && *text == '[' && text[len - 1] == ']';

	return is_bracketed ? address_parse(text + 1, len - 2, ret)
			    : address_parse(text, len, ret);
}

int extra_host_parse(const char *word, struct extra_host *ret, struct err *e)
{
	const size_t len = strcspn(word, ":");
	struct extra_host host = { .is_gateway = !strcmp(word + len, ":host-gateway") };

	if (host_name_read(&host.name, word, len) != HOST_NAME_GOOD || !word[len])
		return is_wrong(word, e);
	if (!host.is_gateway && !read_address(word + len + 1, &host.address))
		return is_wrong(word, e);
	*ret = host;
	return 0;
}

/* Returns whether the rule in JSON is about this host's loopback by the name `as`. */
static bool has_loopback(const char *json, const char *as)
{
	struct egress_rules r = { 0 };
	struct err e;

	(void)egress_rules_add_json(&r, json, NULL, &e); /* the rule was checked before */
	bool has = r.count == 1 && r.items[0].kind == EGRESS_LOOPBACK &&
		   !strcmp(r.items[0].name.text, as);
	egress_rules_done(&r);
	return has;
}

/* Adds the rule once more, with a name, if it is about the loopback. */
static void repeat(struct policy *p, const char *json, const struct extra_host *host)
{
	const char *end = strrchr(json, '}');
	struct err e;

	if (!host->is_gateway || !has_loopback(json, EGRESS_HOST_NAME))
		return;
	AUTO_FREE char *named = text_format("%.*s,\"as\":\"%s\"}", (int)(end - json),
					    json, host->name.text);
	/* The name was checked.  A rule whose text has that of this host in "as" cannot get
	 * another one. */
	if (egress_rules_add_json(&p->egress_rules, named, NULL, &e) == 0)
		list_add(&p->egress, named);
}

int extra_host_add(struct policy *p, const char *word, struct err *e)
{
	const size_t count = p->egress.count;
	struct extra_host host;

	if (extra_host_parse(word, &host, e) < 0)
		return -1;
	if (p->add_hosts.count == EXTRA_HOSTS_MAX)
		return err_set(e, ERR_LIMIT, "--add-host: %d names are the most",
			       EXTRA_HOSTS_MAX);
	list_add(&p->add_hosts, word);
	for (size_t i = 0; i < count; i++)
		repeat(p, p->egress.items[i], &host);
	return 0;
}

void extra_host_follow(struct policy *p)
{
	const size_t last = p->egress.count - 1;
	struct extra_host host;

	for (size_t i = 0; i < p->add_hosts.count; i++)
		if (extra_host_parse(p->add_hosts.items[i], &host, NULL) == 0)
			repeat(p, p->egress.items[last], &host);
}

int extra_host_check(const struct policy *p, struct err *e)
{
	for (size_t i = 0; i < p->add_hosts.count; i++) {
		struct extra_host host;
		bool is_reached = false;
		if (extra_host_parse(p->add_hosts.items[i], &host, e) < 0)
			return -1;
		for (size_t at = 0; !is_reached && at < p->egress.count; at++)
			is_reached = has_loopback(p->egress.items[at], host.name.text);
		if (!host.is_gateway || is_reached)
			continue;
		(void)err_set(e, ERR_USAGE,
			      "--add-host %.100s: no rule opens a port of this host's "
			      "loopback",
			      p->add_hosts.items[i]);
		return err_remedy(e, "--allow @host:PORT opens one; with --network host "
				     "it is --add-host NAME:127.0.0.1");
	}
	return 0;
}
