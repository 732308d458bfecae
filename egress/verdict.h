/* verdict -- what the rules say of a connection, of a question, and of each address that
 * a name has led to.
 *
 * The gate's opinion counts for nothing here: it reads the guest's bytes and is taken for
 * hostile. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress/host_addresses.h"
#include "egress/resolved.h"
#include "policy/egress/egress_rules.h"

struct verdict {
	enum egress_verdict says;
	enum reason reason; /* REASON_NONE: a rule allows, or asks */
	size_t rule;	    /* index, or EGRESS_NO_RULE */
};

/* The destination that a guest has named: a name, or an address. */
struct goal {
	struct host_name name; /* empty: the address is the goal */
	struct address address;
	uint16_t port;
};

/* Prints a name, or an address in its usual form, and returns `ret`. */
const char *goal_print(const struct goal *g, char ret[HOST_NAME_BYTES_MAX + 1]);

void verdict_of(const struct egress_rules *rules, const struct goal *g,
		struct verdict *ret);

/* Returns whether the goal is the loopback of this host, which no lookup and no check of
 * addresses precedes. */
bool verdict_is_loopback(const struct egress_rules *rules, const struct verdict *v);

/* Asks whether an address is this host's own: host_addresses_ask(), or a test's. */
typedef enum host_addresses_answer verdict_own(void *context, const struct address *a);

/* Judges one address: of the goal itself, or one that its name has led to.  REASON_NONE:
 * it may be tried.  The addresses inside an IPv6 address are judged as well (address.h).
 * An address of this host is refused, unless a rule names it alone: a rule for a whole
 * network is not meant to open the host. */
enum reason verdict_address(const struct egress_rules *rules, const struct goal *g,
			    const struct address *a, verdict_own *own, void *context);

/* Keeps those addresses that may be tried, in their order, and returns their number; with
 * 0 *ret_reason is why the first was refused. */
size_t verdict_choose(const struct egress_rules *rules, const struct goal *g,
		      struct resolved *found, verdict_own *own, void *context,
		      enum reason *ret_reason);
