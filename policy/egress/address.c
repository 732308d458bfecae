#include "policy/egress/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"

#define V4(a, b, c, d, len) { { 4, { a, b, c, d } }, len }
#define V6(len, ...)	    { { 6, { __VA_ARGS__ } }, len }

/* The first row that contains an address counts, so a metadata service stands before the
 * range that it is in.  The names of special ranges are those of the IANA registries
 * https://www.iana.org/assignments/iana-ipv4-special-registry and
 * https://www.iana.org/assignments/iana-ipv6-special-registry. */
const struct address_range address_ranges[] = {
	/* Metadata services, which hand credentials of the machine to each process on it. */
	{ V4(169, 254, 169, 254, 32), ADDRESS_METADATA, "cloud metadata",
	  "AWS, Azure, Google Cloud, Oracle, OpenStack and others: instance metadata" },
	{ V4(169, 254, 170, 2, 32), ADDRESS_METADATA, "cloud metadata",
	  "AWS: ECS task metadata and credentials" },
	{ V4(169, 254, 170, 23, 32), ADDRESS_METADATA, "cloud metadata",
	  "AWS: EKS Pod Identity agent" },
	{ V4(169, 254, 0, 23, 32), ADDRESS_METADATA, "cloud metadata",
	  "Tencent Cloud: metadata.tencentyun.com" },
	{ V4(100, 100, 100, 200, 32), ADDRESS_METADATA, "cloud metadata",
	  "Alibaba Cloud: instance metadata" },
	{ V4(168, 63, 129, 16, 32), ADDRESS_METADATA, "cloud metadata",
	  "Azure: WireServer" },
	{ V4(192, 0, 0, 192, 32), ADDRESS_METADATA, "cloud metadata",
	  "Oracle Cloud Classic: instance metadata" },
	{ V6(128, 0xfd, 0x00, 0x0e, 0xc2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54),
	  ADDRESS_METADATA, "cloud metadata", "AWS: instance metadata, fd00:ec2::254" },
	{ V6(128, 0xfd, 0x00, 0x0e, 0xc2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x00, 0x23),
	  ADDRESS_METADATA, "cloud metadata",
	  "AWS: EKS Pod Identity agent, fd00:ec2::23" },
	{ V6(128, 0xfd, 0x20, 0x00, 0xce, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54),
	  ADDRESS_METADATA, "cloud metadata", "Google Cloud: fd20:ce::254" },

	{ V4(0, 0, 0, 0, 8), ADDRESS_CLOSED, "this network", "RFC 791 section 3.2" },
	{ V4(127, 0, 0, 0, 8), ADDRESS_CLOSED, "loopback", "RFC 1122 section 3.2.1.3" },
	{ V4(198, 18, 0, 0, 15), ADDRESS_CLOSED, "addresses that hutch gives to names",
	  "RFC 2544: benchmarks" },
	{ V4(224, 0, 0, 0, 4), ADDRESS_CLOSED, "multicast", "RFC 5771" },
	{ V4(255, 255, 255, 255, 32), ADDRESS_CLOSED, "broadcast", "RFC 8190, RFC 919" },
	{ V4(10, 0, 0, 0, 8), ADDRESS_SPECIAL, "private", "RFC 1918" },
	{ V4(100, 64, 0, 0, 10), ADDRESS_SPECIAL, "shared by customers of a provider",
	  "RFC 6598" },
	{ V4(169, 254, 0, 0, 16), ADDRESS_SPECIAL, "link-local", "RFC 3927" },
	{ V4(172, 16, 0, 0, 12), ADDRESS_SPECIAL, "private", "RFC 1918" },
	{ V4(192, 0, 0, 0, 24), ADDRESS_SPECIAL, "assigned to protocols", "RFC 6890" },
	{ V4(192, 0, 2, 0, 24), ADDRESS_SPECIAL, "for documents", "RFC 5737" },
	{ V4(192, 88, 99, 0, 24), ADDRESS_SPECIAL, "relays of 6to4", "RFC 7526" },
	{ V4(192, 168, 0, 0, 16), ADDRESS_SPECIAL, "private", "RFC 1918" },
	{ V4(198, 51, 100, 0, 24), ADDRESS_SPECIAL, "for documents", "RFC 5737" },
	{ V4(203, 0, 113, 0, 24), ADDRESS_SPECIAL, "for documents", "RFC 5737" },
	{ V4(240, 0, 0, 0, 4), ADDRESS_SPECIAL, "reserved", "RFC 1112 section 4" },

	{ V6(128, 0), ADDRESS_CLOSED, "unspecified", "RFC 4291 section 2.5.2" },
	{ V6(128, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1), ADDRESS_CLOSED,
	  "loopback", "RFC 4291 section 2.5.3" },
	{ V6(10, 0xfe, 0x80), ADDRESS_CLOSED, "link-local", "RFC 4291 section 2.5.6" },
	{ V6(8, 0xff), ADDRESS_CLOSED, "multicast", "RFC 4291 section 2.7" },
	{ V6(10, 0xfe, 0xc0), ADDRESS_SPECIAL, "site-local", "RFC 3879" },
	{ V6(7, 0xfc), ADDRESS_SPECIAL, "private", "RFC 4193" },
	{ V6(48, 0x00, 0x64, 0xff, 0x9b, 0, 1), ADDRESS_SPECIAL,
	  "translated within a network", "RFC 8215" },
	{ V6(64, 0x01, 0x00), ADDRESS_SPECIAL, "discarded", "RFC 6666" },
	{ V6(32, 0x20, 0x01, 0x0d, 0xb8), ADDRESS_SPECIAL, "for documents", "RFC 3849" },
	{ V6(20, 0x3f, 0xff), ADDRESS_SPECIAL, "for documents", "RFC 9637" },
	{ V6(48, 0x20, 0x01, 0x00, 0x02), ADDRESS_SPECIAL, "for benchmarks", "RFC 5180" },
	{ V6(28, 0x20, 0x01, 0x00, 0x10), ADDRESS_SPECIAL, "identifiers, not addresses",
	  "RFC 4843: ORCHID" },
	{ V6(28, 0x20, 0x01, 0x00, 0x20), ADDRESS_SPECIAL, "identifiers, not addresses",
	  "RFC 7343: ORCHIDv2" },
	{ V6(16, 0x5f, 0x00), ADDRESS_SPECIAL, "identifiers of segment routing",
	  "RFC 9602" },
};
const size_t address_range_count = ARRAY_LEN(address_ranges);

/* Unicast is allocated from 2000::/3 alone; other addresses that contain no IPv4 address
 * are in this range, which stands for all of IPv6. */
static const struct address_range unallocated = {
	V6(0, 0), ADDRESS_SPECIAL, "not allocated",
	"IANA Internet Protocol Version 6 Address Space"
};

/* --- addresses -------------------------------------------------------------------- */

struct address address_from_4(const void *bytes)
{
	struct address a = { .family = 4 };

	memcpy(a.bytes, bytes, 4);
	return a;
}

struct address address_from_6(const void *bytes)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct address a = { .family = 6 };

	if (!memcmp(bytes, mapped, sizeof(mapped)))
		return address_from_4((const uint8_t *)bytes + sizeof(mapped));
	memcpy(a.bytes, bytes, 16);
	return a;
}

bool address_parse(const char *text, size_t len, struct address *ret)
{
	char copy[ADDRESS_TEXT_MAX];
	uint8_t bytes[16];
	bool has_colon = memchr(text, ':', len);

	/* Most texts that are asked about are names. */
	if (!has_colon && (!len || *text < '0' || *text > '9'))
		return false;
	if (len >= sizeof(copy) || memchr(text, '\0', len))
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	if (inet_pton(has_colon ? AF_INET6 : AF_INET, copy, bytes) != 1)
		return false;
	*ret = has_colon ? address_from_6(bytes) : address_from_4(bytes);
	return true;
}

bool address_from_sockaddr(const struct sockaddr *from, size_t len, struct address *ret)
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;

	if (len >= sizeof(v4) && from->sa_family == AF_INET) {
		memcpy(&v4, from, sizeof(v4));
		*ret = address_from_4(&v4.sin_addr);
		return true;
	}
	if (len >= sizeof(v6) && from->sa_family == AF_INET6) {
		memcpy(&v6, from, sizeof(v6));
		*ret = address_from_6(&v6.sin6_addr);
		return true;
	}
	return false;
}

const char *address_print(const struct address *a, char ret[ADDRESS_TEXT_MAX])
{
	/* It cannot fail: the family is known, and the text has room. */
	(void)inet_ntop(a->family == 4 ? AF_INET : AF_INET6, a->bytes, ret,
			ADDRESS_TEXT_MAX);
	return ret;
}

bool address_is_equal(const struct address *a, const struct address *b)
{
	return a->family == b->family && !memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}

/* --- addresses inside of others --------------------------------------------------- */

/* A form of IPv6 in which there is an IPv4 address. */
static const struct form {
	struct cidr network;
	uint8_t at[4]; /* the indexes of its bytes */
	uint8_t flip;  /* is to be XORed with each */
} forms[] = {
	/* RFC 4291 section 2.5.5.1: IPv4-compatible */
	{ V6(96, 0), { 12, 13, 14, 15 }, 0 },
	/* RFC 6052: NAT64 */
	{ V6(96, 0x00, 0x64, 0xff, 0x9b), { 12, 13, 14, 15 }, 0 },
	/* RFC 8215: a network of /96 within it, or itself as one of /48, where RFC 6052
	 * section 2.2 leaves out byte 8 */
	{ V6(48, 0x00, 0x64, 0xff, 0x9b, 0, 1), { 12, 13, 14, 15 }, 0 },
	{ V6(48, 0x00, 0x64, 0xff, 0x9b, 0, 1), { 6, 7, 9, 10 }, 0 },
	/* RFC 3056: 6to4 */
	{ V6(16, 0x20, 0x02), { 2, 3, 4, 5 }, 0 },
	/* RFC 4380 section 4: Teredo's server, and its client with all bits inverted */
	{ V6(32, 0x20, 0x01), { 4, 5, 6, 7 }, 0 },
	{ V6(32, 0x20, 0x01), { 12, 13, 14, 15 }, 0xff },
};

size_t address_inner(const struct address *a, struct address ret[ADDRESS_INNER_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		if (!cidr_has(&forms[i].network, a))
			continue;
		struct address *inner = &ret[count++];
		*inner = (struct address){ .family = 4 };
		for (size_t k = 0; k < 4; k++)
			inner->bytes[k] = a->bytes[forms[i].at[k]] ^ forms[i].flip;
	}
	return count;
}

/* --- ranges ----------------------------------------------------------------------- */

static bool is_allocated(const struct address *a)
{
	struct address inner[ADDRESS_INNER_MAX];

	return a->family == 4 || a->bytes[0] >> 5 == 1 || address_inner(a, inner);
}

const struct address_range *address_range_of(const struct address *a)
{
	for (size_t i = 0; i < ARRAY_LEN(address_ranges); i++)
		if (cidr_has(&address_ranges[i].network, a))
			return &address_ranges[i];
	return is_allocated(a) ? NULL : &unallocated;
}

const struct address_range *address_special(const struct address *a)
{
	const struct address_range *strictest = address_range_of(a);
	struct address inner[ADDRESS_INNER_MAX];
	const size_t count = address_inner(a, inner);

	for (size_t i = 0; i < count; i++) {
		const struct address_range *r = address_range_of(&inner[i]);
		if (r && (!strictest || r->kind > strictest->kind))
			strictest = r;
	}
	return strictest;
}

/* --- networks --------------------------------------------------------------------- */

/* Returns whether the first `length` bits are equal. */
static bool starts_alike(const uint8_t *a, const uint8_t *b, unsigned int length)
{
	const unsigned int bytes = length / 8, bits = length % 8;

	if (memcmp(a, b, bytes) != 0)
		return false;
	return !bits || (a[bytes] ^ b[bytes]) >> (8 - bits) == 0;
}

bool cidr_has(const struct cidr *n, const struct address *a)
{
	return n->first.family == a->family &&
	       starts_alike(n->first.bytes, a->bytes, n->length);
}

bool cidr_contains(const struct cidr *outer, const struct cidr *inner)
{
	return outer->length <= inner->length && cidr_has(outer, &inner->first);
}

/* Parses a number of at most three digits without leading zeros; -1: it is none. */
static int parse_length(const char *text, size_t len)
{
	int number = 0;

	if (len == 0 || len > 3 || (len > 1 && text[0] == '0'))
		return -1;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -1;
		number = 10 * number + text[i] - '0';
	}
	return number;
}

/* Clears the bits behind the length; returns whether one was set. */
static bool clear_rest(struct cidr *n)
{
	bool had_bits = false;

	for (unsigned int bit = n->length; bit < 128; bit++) {
		uint8_t *byte = &n->first.bytes[bit / 8];
		const uint8_t mask = (uint8_t)(0x80 >> bit % 8);
		had_bits |= (*byte & mask) != 0;
		*byte &= (uint8_t)~mask;
	}
	return had_bits;
}

enum cidr_fault cidr_parse(const char *text, size_t len, struct cidr *ret)
{
	const char *slash = memchr(text, '/', len);
	size_t address_len = slash ? (size_t)(slash - text) : len;
	struct cidr n;

	if (!address_parse(text, address_len, &n.first))
		return CIDR_NO_ADDRESS;
	int max = n.first.family == 4 ? 32 : 128, length = max;
	/* ::ffff:10.0.0.0/104 is 10.0.0.0/8, and ::ffff:0:0/90 has no IPv4 form. */
	int mapped = n.first.family == 4 && memchr(text, ':', address_len) ? 96 : 0;
	if (slash)
		length = parse_length(slash + 1, len - address_len - 1) - mapped;
	if (length < 0 || length > max)
		return CIDR_LENGTH;
	n.length = (uint8_t)length;
	bool had_bits = clear_rest(&n);
	*ret = n;
	return had_bits ? CIDR_BITS : CIDR_GOOD;
}

const char *cidr_print(const struct cidr *n, char ret[CIDR_TEXT_MAX])
{
	char address[ADDRESS_TEXT_MAX];
	(void)address_print(&n->first, address);
	if (n->length == (n->first.family == 4 ? 32 : 128))
		(void)snprintf(ret, CIDR_TEXT_MAX, "%s", address);
	else
		(void)snprintf(ret, CIDR_TEXT_MAX, "%s/%u", address, n->length);
	return ret;
}

bool cidr_names(const struct cidr *n, const struct address *a)
{
	static const struct cidr unicast = V6(3, 0x20);
	const struct address_range *r = address_range_of(a);

	if (!cidr_has(n, a) || !r)
		return cidr_has(n, a);
	if (r == &unallocated)
		return !cidr_contains(n, &unicast);
	return r->kind != ADDRESS_CLOSED && cidr_contains(&r->network, n);
}
