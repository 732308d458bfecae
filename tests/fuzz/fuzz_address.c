/* Addresses and networks as text, and the first 16 bytes as an address: an address that
 * is printed is parsed to the same, and no address is public by itself and special by an
 * address inside of it without being said so. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "policy/egress/address.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_address(const struct address *a)
{
	struct address again, inner[ADDRESS_INNER_MAX];
	char text[ADDRESS_TEXT_MAX];

	(void)address_print(a, text);
	if (!address_parse(text, strlen(text), &again) || !address_is_equal(a, &again))
		abort();
	const struct address_range *own = address_range_of(a), *all = address_special(a);
	if (own && (!all || all->kind < own->kind))
		abort();
	size_t count = address_inner(a, inner);
	for (size_t i = 0; i < count; i++) {
		const struct address_range *r = address_range_of(&inner[i]);
		if (inner[i].family != 4 || (r && (!all || all->kind < r->kind)))
			abort();
	}
}

static void check_network(const struct cidr *n)
{
	char text[CIDR_TEXT_MAX];
	struct cidr again;

	(void)cidr_print(n, text);
	if (cidr_parse(text, strlen(text), &again) != CIDR_GOOD ||
	    !cidr_contains(n, &again) || !cidr_contains(&again, n) ||
	    !cidr_has(n, &n->first))
		abort();
	if (cidr_names(n, &n->first)) {
		const struct address_range *r = address_range_of(&n->first);
		if (r && r->kind == ADDRESS_CLOSED)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size ? size : 1);
	struct address a;
	struct cidr n;

	if (!text)
		abort();
	if (size)
		memcpy(text, data, size);
	if (address_parse(text, size, &a))
		check_address(&a);
	enum cidr_fault f = cidr_parse(text, size, &n);
	if (f == CIDR_GOOD || f == CIDR_BITS)
		check_network(&n);
	if (size >= 16) {
		a = address_from_6(text);
		check_address(&a);
		a = address_from_4(text);
		check_address(&a);
	}
	free(text);
	return 0;
}
