/* egress_rule -- one rule about connections out of a sandbox: a verdict and a target.
 *
 *	pypi.org		the name, ports 80 and 443
 *	pypi.org:8443		the name, one port
 *	pypi.org:8000-8010	the name, these ports
 *	pypi.org:*		the name, every port
 *	*.pypi.org		the names below it by one label or more, not pypi.org
 *	*			each public name; an address never
 *	10.1.2.3:5432		an address
 *	10.0.0.0/8:5432		a network
 *	[fd00::7]:443		IPv6 with a port; without one also fd00::7 and fd00::/64
 *	[fd00::/64]:443
 *	@host:8080		a port of this host's loopback, inside host.hutch.internal
 *	git@github.com:22	the way in which git's ssh addresses are written: the same as
 *				github.com:22, since no network shows the user of ssh;
 *				another user or another port is an error
 *
 * A `deny` without a port is about every port: a door that was meant to be shut is not
 * left open at the ports that were not thought of.
 *
 * A rule for a name never matches an address, and a rule for a network never allows a
 * name: it only opens a special range (address.h) to names that are allowed.  It does so
 * where it lies within the range, so that 0.0.0.0/0 is the public internet and no more.
 * The metadata service of a cloud is opened for literal connections alone, by a rule for
 * that one address. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/egress/address.h"
#include "policy/egress/host_name.h"

struct err;

/* The name by which programs inside reach the loopback of the host. */
#define EGRESS_HOST_NAME "host.hutch.internal"

/* The address of hutch-gate, which resolves names for programs inside. */
#define EGRESS_RESOLVER "10.0.2.2"

#define EGRESS_TARGET_MAX 320 /* bytes of a target */
#define EGRESS_WHY_MAX	  300 /* bytes of a `why` */
#define EGRESS_PORTS_MAX  64  /* distinct ports that have a listener each */

/* Zero is the safe one. */
enum egress_verdict { EGRESS_DENY, EGRESS_ALLOW, EGRESS_ASK };

/* Returns "deny", "allow" or "ask". */
const char *egress_verdict_word(enum egress_verdict verdict);

enum egress_kind {
	EGRESS_NAME,	/* one name */
	EGRESS_BELOW,	/* the names below `name` */
	EGRESS_ANY,	/* each public name */
	EGRESS_NETWORK, /* the addresses of `network` */
	EGRESS_LOOPBACK /* this host's loopback: @host */
};

/* Ports from `low` to `high`; or 80 and 443. */
struct egress_ports {
	uint16_t low, high; /* 0 and 65535: every port */
	bool is_web;	    /* 80 and 443; low and high are 80 and 443 as well */
};

/* A host_name in as many bytes as it has, so that a thousand rules are small. */
struct egress_name {
	const char
		*text; /* borrowed: it stands behind the rule's text, in the same block */
	uint8_t len;
};

struct egress_rule {
	enum egress_verdict verdict;
	enum egress_kind kind;
	struct egress_name name; /* EGRESS_NAME, EGRESS_BELOW; EGRESS_LOOPBACK:
				  * EGRESS_HOST_NAME, or that of "as"; else "" */
	struct cidr network; /* EGRESS_NETWORK */
	struct egress_ports ports;
	bool has_any_tls; /* "tls": "any": a ClientHello without a name is accepted */
	char *text;	  /* owned: the target as it was written, with " (@NAME)" behind it
			   * if it is out of a preset */
	char *why;	  /* owned: the reason to tell; NULL: none */
	char *from;	  /* owned: the flag or file, as err_from() wants it; NULL: unknown */
};

/* Parses a target; presets are no targets.  ERR_USAGE with a remedy, or ERR_LIMIT.  The
 * caller fills in has_any_tls, why and from.  On failure *ret owns nothing. */
int egress_rule_parse(struct egress_rule *ret, enum egress_verdict verdict,
		      const char *target, struct err *e);
void egress_rule_done(struct egress_rule *r);

/* Has the rule say another text than its target. */
void egress_rule_set_text(struct egress_rule *r, const char *text);

/* Gives a rule of EGRESS_LOOPBACK another name inside than EGRESS_HOST_NAME.  ERR_USAGE:
 * the rule is of another kind, or the text is no name. */
int egress_rule_rename(struct egress_rule *r, const char *as, struct err *e);

/* Returns whether the rule is about the port. */
bool egress_ports_have(const struct egress_ports *p, uint16_t port);
bool egress_ports_are_all(const struct egress_ports *p);
/* Returns whether each port of `inner` is in `outer`. */
bool egress_ports_contain(const struct egress_ports *outer,
			  const struct egress_ports *inner);

/* Return whether the rule is about the name, or the address, at any port. */
bool egress_rule_has_name(const struct egress_rule *r, const struct host_name *name);
bool egress_rule_has_address(const struct egress_rule *r, const struct address *a);

/* Returns whether each destination of `inner` is one of `outer`. */
bool egress_rule_contains(const struct egress_rule *outer,
			  const struct egress_rule *inner);

/* Return the target that would allow a connection, allocated: "pypi.org",
 * "pypi.org:8443", "[fd00::7]:443", "@host:8080". */
char *egress_rule_propose_name(const struct host_name *name, uint16_t port);
char *egress_rule_propose_address(const struct address *a, uint16_t port);
