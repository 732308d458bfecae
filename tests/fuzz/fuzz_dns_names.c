/* Any order of questions, connections and ends of connections: an address that was given
 * leads back to its name, a held name keeps its address, and none is given twice.  Four
 * bytes are a step: what is done, in which pool, and the name's number. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "egress/dns_names.h"
#include "egress/name_rate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { NAMES = 4096 * 2 };

struct known {
	uint32_t address, held;
};

static void claim(int is_so)
{
	if (!is_so)
		abort();
}

static void step(struct dns_names *t, struct known *k, enum dns_pool pool, unsigned what,
		 unsigned number)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "n%u.example", number);
	if (what % 4 == 3 && k->held) {
		dns_names_release(t, k->address);
		k->held--;
		return;
	}
	uint32_t got = dns_names_address(t, pool, name);
	claim(got == 0 || got >> 16 == 0xc612u + pool);
	claim(got == 0 || strcmp(dns_names_name(t, got), name) == 0);
	claim(!k->held || got == k->address);
	k->address = got;
	if (got && what % 4 == 2) {
		claim(dns_names_hold(t, got));
		k->held++;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t key[DNS_NAMES_KEY];
	struct known(*known)[NAMES] = calloc(DNS_POOL_COUNT, sizeof(*known));
	struct dns_names *t = dns_names_new(key);
	struct name_rate rate = { 0 };
	int64_t now = 0;

	claim(known != NULL);
	for (; size >= 4; data += 4, size -= 4) {
		unsigned number = (data[2] | (unsigned)data[3] << 8) % NAMES;
		unsigned run = data[0] & 0x80 ? 300 : 1;
		for (unsigned i = 0; i < run; i++)
			step(t, &known[data[1] & 1][(number + i) % NAMES],
			     (enum dns_pool)(data[1] & 1), data[0], (number + i) % NAMES);
		now += data[1];
		(void)name_rate_take(&rate, now);
	}
	for (size_t pool = 0; pool < DNS_POOL_COUNT; pool++)
		claim(dns_names_count(t, (enum dns_pool)pool) <= DNS_NAMES_MAX);
	dns_names_free(t);
	free(known);
	return 0;
}
