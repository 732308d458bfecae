/* dns -- the wire of the stub resolver (RFC 1035, EDNS: RFC 6891): one question in, one
 * answer out.  Nothing here knows which names are allowed, and nothing allocates.
 *
 *	UDP:	dns_parse(datagram), then one dns_answer_*() with dns_udp_room(), and
 *		one sendto(2).
 *	TCP:	dns_tcp_next() finds a message in what has come; dns_parse(), and one
 *		dns_answer_*() with DNS_ANSWER_MAX, behind two bytes of its length,
 *		big endian.
 *
 * The struct dns_question is a copy, so an answer can be built after the message's
 * memory was used again (the answer to RESOLVE comes later).
 *
 * A negative answer is given without an SOA, and with RA set.  glibc (resolv/res_send.c,
 * "referred query") and Go (net/dnsclient_unix.go, errLameReferral) take NOERROR without
 * records for a referral, and ask again, only if AA, RA and all additional records are
 * missing; musl (network/lookup_name.c) looks at the RCODE alone.  RFC 2308, section 5,
 * has a negative answer without an SOA cached by no resolver: a name that a rule allows
 * one second later is found at once.
 *
 * To a resolver of a C library, the caller should say NOERROR or NXDOMAIN only: musl's
 * (network/res_msend.c) drops an answer with FORMERR, NOTIMP or REFUSED, and then waits
 * for its time-out of 5 s.  musl's also takes NXDOMAIN in either of the answers to A and
 * AAAA for both (network/lookup_name.c), so a name without AAAA gets NOERROR.  glibc's
 * drops an answer, whatever its RCODE, that does not repeat the question, so each answer
 * here repeats it if it could be read. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DNS_QUERY_MAX	 4096 /* a longer message is refused, by UDP and by TCP */
#define DNS_NAME_SIZE	 254  /* a name as text, without a final dot, and its NUL */
#define DNS_QUESTION_MAX 259  /* a question on the wire: name, type, class */
#define DNS_ANSWER_MAX	 560  /* the longest answer that is ever built */
#define DNS_TTL		 1    /* in s: what an address stands for may change */

enum dns_type {
	DNS_A = 1,
	DNS_PTR = 12,
	DNS_AAAA = 28,
	DNS_SRV = 33,
	DNS_ANY = 255
};

enum dns_rcode {
	DNS_NOERROR = 0,
	DNS_FORMERR = 1,
	DNS_SERVFAIL = 2,
	DNS_NXDOMAIN = 3,
	DNS_NOTIMP = 4,
	DNS_REFUSED = 5,
	DNS_BADVERS = 16 /* sent only where the question has EDNS (RFC 6891, 6.1.3) */
};

/* How a message was read, and what the caller does with it. */
enum dns_verdict {
	DNS_QUESTION,	     /* one question: the caller decides */
	DNS_ODD_NAME,	     /* a question for a name with a byte that no text has (NUL,
			      * blank, a dot in a label, ...): NXDOMAIN, and an event */
	DNS_MALFORMED,	     /* no valid query: FORMERR */
	DNS_NOT_IMPLEMENTED, /* another opcode or class, or a type for transfers: NOTIMP */
	DNS_BAD_VERSION,     /* EDNS other than version 0: BADVERS */
	DNS_DROP	     /* an answer (QR is set), or less than a header: no answer */
};

struct dns_question {
	uint16_t id;
	uint16_t type;	  /* any number: enum dns_type has those that matter here */
	bool is_recursive, is_check_disabled; /* RD and CD, which the answer repeats */
	uint8_t opcode;	  /* repeated, too */
	bool has_edns;	  /* the answer then has an OPT record, and only then */
	bool is_dnssec_ok; /* DO, which the answer's OPT repeats (RFC 3225) */
	uint16_t payload; /* the EDNS payload size; 512 without EDNS */
	/* The question as it came, so that an answer repeats the case of its letters
	 * ("0x20"). wire_len 0: no question could be read. */
	uint8_t wire[DNS_QUESTION_MAX];
	uint16_t wire_len;
	/* The labels, joined by dots, as they came: not lower case, no final dot; "" for
	 * the root. All bytes are printable ASCII; with DNS_ODD_NAME the odd ones are
	 * '?', and the name is good for an event only. The caller normalises it. */
	char name[DNS_NAME_SIZE];
};

enum dns_frame { DNS_FRAME_NEED_MORE, DNS_FRAME_WHOLE, DNS_FRAME_REFUSED };

/* Finds the first message of a TCP stream.  WHOLE: the message begins at bytes + 2 and
 * has *ret_len bytes; the next one follows it.  REFUSED: a length below a header's or
 * over DNS_QUERY_MAX; the connection is to be closed. */
enum dns_frame dns_tcp_next(const uint8_t *bytes, size_t len, size_t *ret_len);

/* Reads one message.  *ret is always filled in, as far as it could be read, so that
 * dns_answer_empty() can answer whatever is not DNS_DROP.  A compression pointer in the
 * question, more or less than one question, other records than one OPT, and bytes
 * behind the last record are malformed. */
enum dns_verdict dns_parse(const uint8_t *msg, size_t len, struct dns_question *ret);

/* Returns the RCODE for a verdict: NXDOMAIN for DNS_ODD_NAME, NOERROR for a question. */
enum dns_rcode dns_verdict_rcode(enum dns_verdict verdict);

/* Returns how long an answer by UDP may be: the payload size of the question, at least
 * 512, and at most 1232, which passes every path unfragmented. */
size_t dns_udp_room(const struct dns_question *q);

/* Each builds an answer in `ret`, of `room` bytes, and returns its length.  An answer
 * that does not fit becomes one with TC and no record (the client asks again by TCP); 0:
 * not even that fits, which needs a room below 512.  The record's type is the
 * function's, not the question's: the caller has compared these, or the type is ANY. */
size_t dns_answer_empty(const struct dns_question *q, enum dns_rcode rcode, uint8_t *ret,
			size_t room);
size_t dns_answer_a(const struct dns_question *q, const uint8_t address[4], uint8_t *ret,
		    size_t room);
size_t dns_answer_aaaa(const struct dns_question *q, const uint8_t address[16],
		       uint8_t *ret, size_t room);
/* `name` is a normalised name: labels of 1 to 63 bytes, at most 253 bytes in all. */
size_t dns_answer_ptr(const struct dns_question *q, const char *name, uint8_t *ret,
		      size_t room);
/* Builds an answer with TC and no record. */
size_t dns_answer_cut(const struct dns_question *q, uint8_t *ret, size_t room);

/* Reads a name below in-addr.arpa or ip6.arpa, in letters of any case.  Returns the
 * address's length, 4 or 16, or 0 for any other name; a label with a leading zero, and
 * a name with too few labels, are others. */
size_t dns_ptr_address(const char *name, uint8_t ret[16]);
