#include "egress/dns_names.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/own.h"

enum {
	NAME_SIZE = 254,
	HASH_SIZE = 8192, /* a power of 2, twice the names */
	HOSTS = 65536	  /* addresses in a /16: the first and the last are not used */
};

/* Places in the arrays are counted from 1, so that zeroed memory is an empty table. */
struct entry {
	char name[NAME_SIZE];
	uint16_t host;	       /* the address within its /16 */
	uint32_t connections;
	uint16_t chain;	       /* the next entry with this hash */
	uint16_t newer, older;    /* the neighbours in the order of use; only without
			        * connections */
	bool is_known;
};

struct pool {
	struct entry entries[DNS_NAMES_MAX + 1]; /* [0] is not used */
	uint16_t by_name[HASH_SIZE];
	uint16_t by_host[HOSTS];
	uint16_t newest, oldest; /* of those without connections */
	uint16_t count;
	uint16_t last; /* the address that was given out last */
};

struct dns_names {
	struct pool pools[DNS_POOL_COUNT];
	uint64_t key[2];
};
static_assert(sizeof(struct dns_names) <= DNS_NAMES_BYTES, "the header's bound is low");
static_assert(DNS_NAMES_MAX < UINT16_MAX, "a place does not fit");

static const uint32_t bases[] = {
	[DNS_POOL_ALLOWED] = 198u << 24 | 18 << 16,
	[DNS_POOL_REFUSED] = 198u << 24 | 19 << 16,
};
static_assert(ARRAY_LEN(bases) == DNS_POOL_COUNT, "a pool has no addresses");

/* --- SipHash-2-4 (Aumasson and Bernstein, 2012) ------------------------------ */

static uint64_t rotate(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

static void sip_rounds(uint64_t v[4], int rounds)
{
	while (rounds-- > 0) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] = rotate(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[2] = rotate(v[2], 32);
	}
}

static void sip_word(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	sip_rounds(v, 2);
	v[0] ^= word;
}

static uint64_t sip_hash(const uint64_t key[2], const char *text, size_t len)
{
	uint64_t v[4] = { key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d,
			  key[0] ^ 0x6c7967656e657261, key[1] ^ 0x7465646279746573 };
	uint64_t word = 0;

	for (size_t i = 0; i < len; i++) {
		word |= (uint64_t)(uint8_t)text[i] << (i % 8 * 8);
		if (i % 8 == 7) {
			sip_word(v, word);
			word = 0;
		}
	}
	sip_word(v, word | (uint64_t)len << 56);
	v[2] ^= 0xff;
	sip_rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static uint16_t *bucket(struct dns_names *t, struct pool *p, const char *name)
{
	return &p->by_name[sip_hash(t->key, name, strlen(name)) % HASH_SIZE];
}

/* --- the order of use -------------------------------------------------------- */

static void order_remove(struct pool *p, uint16_t at)
{
	struct entry *e = &p->entries[at];

	*(e->newer ? &p->entries[e->newer].older : &p->newest) = e->older;
	*(e->older ? &p->entries[e->older].newer : &p->oldest) = e->newer;
	e->newer = e->older = 0;
}

static void order_add(struct pool *p, uint16_t at)
{
	p->entries[at].older = p->newest;
	p->entries[at].newer = 0;
	*(p->newest ? &p->entries[p->newest].newer : &p->oldest) = at;
	p->newest = at;
}

/* --- names and addresses ------------------------------------------------------ */

struct dns_names *dns_names_new(const uint8_t key[DNS_NAMES_KEY])
{
	struct dns_names *t = mem_zeroed(1, sizeof(*t));

	static_assert(sizeof(t->key) == DNS_NAMES_KEY, "the key has another size");
	memcpy(t->key, key, sizeof(t->key));
	return t;
}

void dns_names_free(struct dns_names *t)
{
	free(t);
}

static uint16_t find(const struct pool *p, uint16_t first, const char *name)
{
	while (first && strcmp(p->entries[first].name, name) != 0)
		first = p->entries[first].chain;
	return first;
}

/* Removes the name that has been unused for longest, and returns its place; 0: all have
 * connections. */
static uint16_t forget_oldest(struct dns_names *t, struct pool *p)
{
	uint16_t at = p->oldest;

	if (!at)
		return 0;
	struct entry *e = &p->entries[at];
	uint16_t *link = bucket(t, p, e->name);
	while (*link != at)
		link = &p->entries[*link].chain;
	*link = e->chain;
	p->by_host[e->host] = 0;
	order_remove(p, at);
	return at;
}

/* Returns the next address that has no name.  There are fewer names than addresses, so
 * the loop ends. */
static uint16_t next_host(struct pool *p)
{
	do {
		p->last++;
		if (p->last == 0 || p->last == HOSTS - 1)
			p->last = 1;
	} while (p->by_host[p->last]);
	return p->last;
}

static uint16_t add(struct dns_names *t, struct pool *p, const char *name)
{
	uint16_t at = p->count < DNS_NAMES_MAX ? ++p->count : forget_oldest(t, p);

	if (!at)
		return 0;
	struct entry *e = &p->entries[at];
	*e = (struct entry){ .host = next_host(p) };
	memcpy(e->name, name, strlen(name) + 1);
	uint16_t *first = bucket(t, p, name);
	e->chain = *first;
	*first = at;
	p->by_host[e->host] = at;
	order_add(p, at);
	return at;
}

uint32_t dns_names_address(struct dns_names *t, enum dns_pool pool, const char *name)
{
	struct pool *p = &t->pools[pool];

	if (!*name || strlen(name) >= NAME_SIZE)
		return 0;
	uint16_t at = find(p, *bucket(t, p, name), name);
	if (!at) {
		at = add(t, p, name);
	} else if (p->entries[at].connections == 0) {
		order_remove(p, at);
		order_add(p, at);
	}
	return at ? bases[pool] | p->entries[at].host : 0;
}

/* Returns the entry of an address, or NULL, and its pool. */
static const struct entry *lookup(const struct dns_names *t, uint32_t address,
				  size_t *ret_pool)
{
	for (size_t i = 0; i < DNS_POOL_COUNT; i++)
		if ((address & 0xffff0000) == bases[i]) {
			uint16_t at = t->pools[i].by_host[address & 0xffff];
			*ret_pool = i;
			return at ? &t->pools[i].entries[at] : NULL;
		}
	return NULL;
}

/* The same for a caller that may change the table. */
static struct entry *entry_of(struct dns_names *t, uint32_t address, struct pool **ret)
{
	size_t pool = 0;
	const struct entry *e = lookup(t, address, &pool);

	*ret = &t->pools[pool];
	return e ? &(*ret)->entries[e - (*ret)->entries] : NULL;
}

const char *dns_names_name(const struct dns_names *t, uint32_t address)
{
	size_t pool;
	const struct entry *e = lookup(t, address, &pool);

	return e ? e->name : NULL;
}

bool dns_names_hold(struct dns_names *t, uint32_t address)
{
	struct pool *p;
	struct entry *e = entry_of(t, address, &p);

	if (!e)
		return false;
	if (e->connections++ == 0)
		order_remove(p, (uint16_t)(e - p->entries));
	return true;
}

void dns_names_release(struct dns_names *t, uint32_t address)
{
	struct pool *p;
	struct entry *e = entry_of(t, address, &p);

	if (e && e->connections && --e->connections == 0)
		order_add(p, (uint16_t)(e - p->entries));
}

bool dns_names_is_known(const struct dns_names *t, uint32_t address)
{
	size_t pool;
	const struct entry *e = lookup(t, address, &pool);

	return e && e->is_known;
}

void dns_names_set_known(struct dns_names *t, uint32_t address)
{
	struct pool *p;
	struct entry *e = entry_of(t, address, &p);

	if (e)
		e->is_known = true;
}

size_t dns_names_count(const struct dns_names *t, enum dns_pool pool)
{
	return t->pools[pool].count;
}

/* --- IPv6 ------------------------------------------------------------------- */

static const uint8_t v6_prefix[12] = { 0xfd, 0x00, 0x00, 0x02, 0x00, 0x01 };

void dns_names_to_v6(uint32_t address, uint8_t ret[16])
{
	memcpy(ret, v6_prefix, sizeof(v6_prefix));
	for (int i = 0; i < 4; i++)
		ret[12 + i] = (uint8_t)(address >> (24 - 8 * i));
}

uint32_t dns_names_from_v6(const uint8_t address[16])
{
	uint32_t v4 = 0;

	if (memcmp(address, v6_prefix, sizeof(v6_prefix)) != 0)
		return 0;
	for (int i = 0; i < 4; i++)
		v4 = v4 << 8 | address[12 + i];
	for (size_t i = 0; i < DNS_POOL_COUNT; i++)
		if ((v4 & 0xffff0000) == bases[i])
			return v4;
	return 0;
}
