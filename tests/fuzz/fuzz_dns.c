/* A message to the stub resolver, by UDP and by TCP: whatever it is, the answer to it
 * has a valid header, repeats the id and the question, and keeps to its room; a name is
 * printable text, or is called odd. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "egress/dns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void claim(int is_so)
{
	if (!is_so)
		abort();
}

static void check_name(const struct dns_question *q)
{
	size_t len = strnlen(q->name, sizeof(q->name));

	claim(len < sizeof(q->name));
	for (size_t i = 0; i < len; i++)
		claim(q->name[i] > ' ' && q->name[i] < 0x7f);
}

/* Builds an answer in memory of exactly its room. */
static void check_answer(const struct dns_question *q, const uint8_t *msg, size_t room,
			 unsigned kind)
{
	static const uint8_t address[16] = { 198, 18, 0, 1 };
	uint8_t *to = malloc(room ? room : 1);
	size_t len = 0;

	claim(to != NULL);
	if (kind < 6)
		len = dns_answer_empty(q, (enum dns_rcode)kind, to, room);
	else if (kind == 6)
		len = dns_answer_a(q, address, to, room);
	else if (kind == 7)
		len = dns_answer_aaaa(q, address, to, room);
	else if (kind == 8)
		len = dns_answer_ptr(q, q->name, to, room);
	else
		len = dns_answer_cut(q, to, room);
	claim(len <= room && (room < 512 || len >= 12));
	if (len) {
		claim(memcmp(to, msg, 2) == 0 && (to[2] & 0x80));
		claim(memcmp(to + 12, q->wire, q->wire_len) == 0);
	}
	/* No resolver takes the answer for a question. */
	struct dns_question again;
	claim(dns_parse(to, len, &again) == DNS_DROP);
	free(to);
}

static void check(const uint8_t *data, size_t size)
{
	struct dns_question q;
	uint8_t address[16];
	enum dns_verdict verdict = dns_parse(data, size, &q);

	check_name(&q);
	claim(q.wire_len <= sizeof(q.wire));
	if (verdict == DNS_DROP)
		return;
	claim(verdict != DNS_QUESTION || q.wire_len >= 5);
	claim(verdict == DNS_QUESTION || dns_verdict_rcode(verdict) != DNS_NOERROR);
	(void)dns_ptr_address(q.name, address);
	for (unsigned kind = 0; kind < 10; kind++) {
		check_answer(&q, data, dns_udp_room(&q), kind);
		check_answer(&q, data, q.payload % 64, kind);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t len = 0;

	check(data, size);
	if (dns_tcp_next(data, size, &len) == DNS_FRAME_WHOLE) {
		claim(len + 2 <= size && len <= DNS_QUERY_MAX);
		check(data + 2, len);
	}
	return 0;
}
