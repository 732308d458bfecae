/* dns_names -- the addresses that names have inside.
 *
 * A name gets an address when it is first asked for, and keeps it.  Names that a rule
 * may allow are in 198.18.0.0/16; refused ones are in 198.19.0.0/16, which the guest's
 * own route table prohibits, so that connect(2) fails with EACCES.  A name may have one
 * address in each pool, since rules change while a sandbox runs.
 *
 * Addresses are given out in order, so that one is used again only after 65,534 others.
 * A pool has DNS_NAMES_MAX names; then the name goes that has been unused for longest:
 * not asked for, and without a connection.  Its address has no name until its turn
 * comes again, and a connection to it is refused (REASON_NO_NAME), not sent elsewhere.
 *
 * Each lookup, both ways, takes constant time: the hash of names is SipHash with a key
 * that the guest does not know, so it cannot choose names that collide.
 *
 * Memory: one allocation, of DNS_NAMES_BYTES at most; pages are touched as names come,
 * so an idle table costs some 16 KiB. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DNS_NAMES_MAX	4096		  /* names in each pool */
#define DNS_NAMES_BYTES (2560u << 10)	  /* static_assert in dns_names.c */
#define DNS_NAMES_KEY	16		  /* bytes of the hash's key */

enum dns_pool { DNS_POOL_ALLOWED, DNS_POOL_REFUSED, DNS_POOL_COUNT };

struct dns_names;

/* `key` is random.  Aborts where memory is out. */
struct dns_names *dns_names_new(const uint8_t key[DNS_NAMES_KEY]);
void dns_names_free(struct dns_names *t);

/* Returns the address of a name, in host byte order; a new one, if the name has none.
 * `name` is normalised, 1 to 253 bytes.  0: the pool is full of names with connections,
 * or the name is too long. */
uint32_t dns_names_address(struct dns_names *t, enum dns_pool pool, const char *name);

/* Returns the name of an address, or NULL.  Borrowed: valid until the next call of
 * dns_names_address(), or as long as the address is held. */
const char *dns_names_name(const struct dns_names *t, uint32_t address);

/* Counts a connection to an address: as long as there is one, the name keeps it.
 * Returns false if the address has no name.  Each success needs one release. */
bool dns_names_hold(struct dns_names *t, uint32_t address);
void dns_names_release(struct dns_names *t, uint32_t address);

/* Whether the name of an address has been looked up upstream for a wildcard's rule: such
 * a name is new only once (name_rate.h).  An address without a name has not. */
bool dns_names_is_known(const struct dns_names *t, uint32_t address);
void dns_names_set_known(struct dns_names *t, uint32_t address);

size_t dns_names_count(const struct dns_names *t, enum dns_pool pool);

/* The IPv6 form of an address, in fd00:2:1::/64, and back; 0 for an address of IPv6 that
 * is no such form.  The guest's route prohibits fd00:2:1::c613:0/112. */
void dns_names_to_v6(uint32_t address, uint8_t ret[16]);
uint32_t dns_names_from_v6(const uint8_t address[16]);
