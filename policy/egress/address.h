/* address -- IPv4 and IPv6 addresses, and the ranges to which no name may lead.
 *
 * An IPv6 address ::ffff:a.b.c.d is the IPv4 address a.b.c.d to connect(2), so every
 * function here that makes a struct address turns it into that.  Other forms of IPv4
 * inside IPv6 (NAT64, 6to4, Teredo, IPv4-compatible) stay IPv6: address_inner() gives the
 * IPv4 addresses in them, each of which has to be judged as well, since a router on the
 * way may send the packets there.
 *
 * The ranges are those of the IANA IPv4 and IPv6 Special-Purpose Address Registries that
 * are not globally reachable, metadata services of clouds, and all of IPv6 that is not
 * allocated for unicast.  The host's own addresses are not known here: hutch-egress asks
 * the kernel for them.
 *
 * Nothing is allocated, and no function reads beyond the length that it is given. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sockaddr;

struct address {
	uint8_t family;	   /* 4 or 6; 0: no address */
	uint8_t bytes[16]; /* in network order; of IPv4 the first four, the rest 0 */
};

/* The addresses whose first `length` bits are those of `first`. */
struct cidr {
	struct address first; /* all bits behind `length` are 0 */
	uint8_t length;	      /* 0 to 32 or 128 */
};

/* Room for the longest text of an address, and of a network with its "/128". */
#define ADDRESS_TEXT_MAX 46
#define CIDR_TEXT_MAX 50

enum address_kind {
	ADDRESS_PUBLIC,
	ADDRESS_SPECIAL,  /* reachable only where a rule names the range or a part of it */
	ADDRESS_METADATA, /* a cloud's metadata service: a name never leads there, and only
			   * a rule for that single address names it */
	ADDRESS_CLOSED,	  /* no rule may name the range: this host's loopback, multicast,
			   * link-local IPv6 (which needs a zone), the sandbox's own */
};

struct address_range {
	struct cidr network;
	enum address_kind kind;
	const char *name;   /* "private", "loopback", ... */
	const char *source; /* the document that reserves the range */
};

/* All ranges.  Where two contain an address, the earlier one counts. */
extern const struct address_range address_ranges[];
extern const size_t address_range_count;

/* Parses the usual form: four decimal numbers without leading zeros, or RFC 4291 section
 * 2.2 without a zone and without brackets.  Returns false for anything else. */
bool address_parse(const char *text, size_t len, struct address *ret);

/* Takes the address of a sockaddr_in or sockaddr_in6 of `len` bytes; false for others. */
bool address_from_sockaddr(const struct sockaddr *from, size_t len, struct address *ret);

/* Take addresses from a DNS answer. */
struct address address_from_4(const void *bytes);
struct address address_from_6(const void *bytes);

/* Prints the usual form, and returns `ret`. */
const char *address_print(const struct address *a, char ret[ADDRESS_TEXT_MAX]);

bool address_is_equal(const struct address *a, const struct address *b);

/* Gives the IPv4 addresses inside an IPv6 address.  Returns their number: 0, 1, or 2
 * (Teredo has those of the server and of the client; a network of RFC 8215 has its
 * address in one of two places). */
#define ADDRESS_INNER_MAX 2
size_t address_inner(const struct address *a, struct address ret[ADDRESS_INNER_MAX]);

/* Returns the range that contains the address itself, without a look at inner addresses;
 * NULL: it is public. */
const struct address_range *address_range_of(const struct address *a);

/* The same for the address and the ones inside of it: the strictest of their ranges. */
const struct address_range *address_special(const struct address *a);

/* --- networks --------------------------------------------------------------------- */

enum cidr_fault {
	CIDR_GOOD,
	CIDR_NO_ADDRESS, /* the text before '/' is no address */
	CIDR_LENGTH,	 /* the text behind '/' is no number from 0 to 32 or 128 */
	CIDR_BITS	 /* the address has bits behind the length: *ret is what may be
			  * meant */
};

/* Parses ADDRESS or ADDRESS/LENGTH; an address alone is a network of one. */
enum cidr_fault cidr_parse(const char *text, size_t len, struct cidr *ret);

bool cidr_has(const struct cidr *n, const struct address *a);
/* Returns whether each address of `inner` is in `outer`. */
bool cidr_contains(const struct cidr *outer, const struct cidr *inner);

/* Returns whether a rule for the network opens the address: it has it, and if the address
 * is in a special range, the whole network is in that range.  So 0.0.0.0/0 names each
 * public address and 10.0.0.0/8 those of its own, and a metadata service is named alone. */
bool cidr_names(const struct cidr *n, const struct address *a);

/* Prints ADDRESS/LENGTH, or ADDRESS for a single one, and returns `ret`. */
const char *cidr_print(const struct cidr *n, char ret[CIDR_TEXT_MAX]);
