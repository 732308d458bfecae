#include "egress/dns.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#include "base/hex.h"
#include "base/own.h"

enum {
	HEADER = 12,
	LABEL_MAX = 63,
	NAME_MAX_WIRE = 255, /* with the root's 0 byte */
	OPT_LEN = 11,	     /* an OPT record without options */
	UDP_LEAST = 512,     /* RFC 1035, section 4.2.1 */
	UDP_MOST = 1232,     /* dnsflagday.net/2020 */
	CLASS_IN = 1,
	TYPE_OPT = 41,
	TYPE_META = 128, /* 128 to 255 are for transfers and the like (RFC 6895, 3.1) */
	TYPE_META_LAST = 254
};

/* The bits of bytes 2 and 3 of a header. */
enum {
	QR = 0x80,
	OPCODE = 0x78,
	TC = 0x02,
	RD = 0x01,
	RA = 0x80,
	CD = 0x10
};

/* A message that is read: `at` never passes `end`. */
struct in {
	const uint8_t *at, *end;
};

static size_t left(const struct in *in)
{
	return (size_t)(in->end - in->at);
}

static uint16_t load16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static void store16(uint8_t *to, unsigned value)
{
	to[0] = (uint8_t)(value >> 8);
	to[1] = (uint8_t)value;
}

enum dns_frame dns_tcp_next(const uint8_t *bytes, size_t len, size_t *ret_len)
{
	if (len < 2)
		return DNS_FRAME_NEED_MORE;
	size_t want = load16(bytes);
	if (want < HEADER || want > DNS_QUERY_MAX)
		return DNS_FRAME_REFUSED;
	if (len - 2 < want)
		return DNS_FRAME_NEED_MORE;
	*ret_len = want;
	return DNS_FRAME_WHOLE;
}

/* Adds a label to the text of a name, in which an odd byte is '?'.  Returns whether
 * there was one. */
static bool add_label(char *name, size_t *len, const uint8_t *label, size_t count)
{
	bool is_odd = false;

	if (*len)
		name[(*len)++] = '.';
	for (size_t i = 0; i < count; i++) {
		bool is_fine = label[i] > ' ' && label[i] < 0x7f && label[i] != '.';
		is_odd |= !is_fine;
		name[(*len)++] = is_fine ? (char)label[i] : '?';
	}
	return is_odd;
}

/* Reads the name of the question.  A length over 63 has one of the two highest bits, and
 * so is a compression pointer or of a type without a use. */
static enum dns_verdict read_name(struct in *in, char *name)
{
	const uint8_t *begin = in->at;
	bool is_odd = false;
	size_t len = 0;

	while (left(in) > 0) {
		size_t count = *in->at++;
		if (count == 0) {
			name[len] = '\0';
			return is_odd ? DNS_ODD_NAME : DNS_QUESTION;
		}
		/* The label, and the root's 0 byte, must fit into the name's bytes. */
		if (count > LABEL_MAX || left(in) < count ||
		    (size_t)(in->at - begin) + count + 1 > NAME_MAX_WIRE)
			break;
		is_odd |= add_label(name, &len, in->at, count);
		in->at += count;
	}
	name[0] = '\0';
	return DNS_MALFORMED;
}

static enum dns_verdict read_question(struct in *in, struct dns_question *q)
{
	const uint8_t *begin = in->at;
	enum dns_verdict verdict = read_name(in, q->name);

	if (verdict == DNS_MALFORMED || left(in) < 4) {
		q->name[0] = '\0';
		return DNS_MALFORMED;
	}
	q->type = load16(in->at);
	uint16_t class = load16(in->at + 2);
	in->at += 4;
	q->wire_len = (uint16_t)(in->at - begin);
	memcpy(q->wire, begin, q->wire_len);
	if (q->type == 0 || q->type == TYPE_OPT)
		return DNS_MALFORMED;
	if (class != CLASS_IN || (q->type >= TYPE_META && q->type <= TYPE_META_LAST))
		return DNS_NOT_IMPLEMENTED;
	return verdict;
}

/* Options of EDNS mean nothing here (a cookie, padding, ...), but must fill the record. */
static bool skip_options(struct in *in, size_t len)
{
	const uint8_t *end = in->at + len;

	while (end - in->at >= 4) {
		size_t option = load16(in->at + 2);
		in->at += 4;
		if ((size_t)(end - in->at) < option)
			return false;
		in->at += option;
	}
	return in->at == end;
}

/* Reads the one additional record that a query may have. */
static enum dns_verdict read_opt(struct in *in, struct dns_question *q)
{
	if (left(in) < OPT_LEN || in->at[0] != 0 || load16(in->at + 1) != TYPE_OPT)
		return DNS_MALFORMED;
	unsigned version = in->at[6];
	uint16_t payload = load16(in->at + 3), flags = load16(in->at + 7);
	size_t options = load16(in->at + 9);
	in->at += OPT_LEN;
	if (left(in) < options || !skip_options(in, options))
		return DNS_MALFORMED;
	q->has_edns = true;
	q->is_dnssec_ok = flags & 0x8000;
	q->payload = payload;
	return version == 0 ? DNS_QUESTION : DNS_BAD_VERSION;
}

static enum dns_verdict read_records(const uint8_t *msg, struct in *in,
				     struct dns_question *q)
{
	unsigned questions = load16(msg + 4), additional = load16(msg + 10);

	if (questions != 1 || load16(msg + 6) || load16(msg + 8) || additional > 1)
		return DNS_MALFORMED;
	enum dns_verdict question = read_question(in, q);
	if (question == DNS_MALFORMED)
		return DNS_MALFORMED;
	enum dns_verdict opt = additional ? read_opt(in, q) : DNS_QUESTION;
	if (opt == DNS_MALFORMED || left(in) > 0)
		return DNS_MALFORMED;
	return opt == DNS_BAD_VERSION ? opt : question;
}

enum dns_verdict dns_parse(const uint8_t *msg, size_t len, struct dns_question *ret)
{
	*ret = (struct dns_question){ .payload = UDP_LEAST };
	if (len < HEADER || (msg[2] & QR))
		return DNS_DROP;
	ret->id = load16(msg);
	ret->opcode = (msg[2] & OPCODE) >> 3;
	ret->is_recursive = msg[2] & RD;
	ret->is_check_disabled = msg[3] & CD;
	/* The body of another opcode has another form (RFC 2136). */
	if (ret->opcode != 0)
		return DNS_NOT_IMPLEMENTED;
	if (len > DNS_QUERY_MAX || (msg[2] & TC))
		return DNS_MALFORMED;
	struct in in = { .at = msg + HEADER, .end = msg + len };
	return read_records(msg, &in, ret);
}

enum dns_rcode dns_verdict_rcode(enum dns_verdict verdict)
{
	static const enum dns_rcode rcodes[] = {
		[DNS_QUESTION] = DNS_NOERROR,
		[DNS_ODD_NAME] = DNS_NXDOMAIN,
		[DNS_MALFORMED] = DNS_FORMERR,
		[DNS_NOT_IMPLEMENTED] = DNS_NOTIMP,
		[DNS_BAD_VERSION] = DNS_BADVERS,
		[DNS_DROP] = DNS_FORMERR,
	};

	static_assert(ARRAY_LEN(rcodes) == DNS_DROP + 1, "a verdict has no RCODE");
	return rcodes[verdict];
}

size_t dns_udp_room(const struct dns_question *q)
{
	if (q->payload < UDP_LEAST)
		return UDP_LEAST;
	return q->payload > UDP_MOST ? UDP_MOST : q->payload;
}

/* --- answers --------------------------------------------------------------- */

/* One answer: an RCODE, and a record if `data` is not NULL. */
struct answer {
	enum dns_rcode rcode;
	bool is_cut;
	uint16_t type;
	const uint8_t *data;
	size_t data_len;
};

static void put_header(const struct dns_question *q, const struct answer *a, uint8_t *to)
{
	memset(to, 0, HEADER);
	store16(to, q->id);
	to[2] = (uint8_t)(QR | q->opcode << 3 | (a->is_cut ? TC : 0) |
			  (q->is_recursive ? RD : 0));
	to[3] = (uint8_t)(RA | (q->is_check_disabled ? CD : 0) | (a->rcode & 15));
	store16(to + 4, q->wire_len ? 1 : 0);
	store16(to + 6, a->data ? 1 : 0);
	store16(to + 10, q->has_edns ? 1 : 0);
}

/* The record's name is a pointer to the question's, which stands behind the header. */
static size_t put_record(const struct answer *a, uint8_t *to)
{
	store16(to, 0xc000 | HEADER);
	store16(to + 2, a->type);
	store16(to + 4, CLASS_IN);
	store16(to + 6, 0);
	store16(to + 8, DNS_TTL);
	store16(to + 10, (unsigned)a->data_len);
	memcpy(to + 12, a->data, a->data_len);
	return 12 + a->data_len;
}

static size_t put_opt(const struct dns_question *q, const struct answer *a, uint8_t *to)
{
	memset(to, 0, OPT_LEN);
	store16(to + 1, TYPE_OPT);
	store16(to + 3, UDP_MOST);
	to[5] = (uint8_t)(a->rcode >> 4);
	store16(to + 7, q->is_dnssec_ok ? 0x8000 : 0);
	return OPT_LEN;
}

static size_t answer(const struct dns_question *q, const struct answer *a, uint8_t *ret,
		     size_t room)
{
	size_t record = a->data ? 12 + a->data_len : 0;
	size_t need = HEADER + q->wire_len + record + (q->has_edns ? OPT_LEN : 0);
	struct answer cut = { .is_cut = true };

	if (need > room && a->data)
		return answer(q, &cut, ret, room);
	if (need > room)
		return 0;
	put_header(q, a, ret);
	memcpy(ret + HEADER, q->wire, q->wire_len);
	size_t len = HEADER + q->wire_len;
	if (a->data)
		len += put_record(a, ret + len);
	if (q->has_edns)
		len += put_opt(q, a, ret + len);
	return len;
}

size_t dns_answer_empty(const struct dns_question *q, enum dns_rcode rcode, uint8_t *ret,
			size_t room)
{
	return answer(q, &(struct answer){ .rcode = rcode }, ret, room);
}

size_t dns_answer_cut(const struct dns_question *q, uint8_t *ret, size_t room)
{
	return answer(q, &(struct answer){ .is_cut = true }, ret, room);
}

size_t dns_answer_a(const struct dns_question *q, const uint8_t address[4], uint8_t *ret,
		    size_t room)
{
	struct answer a = { .type = DNS_A, .data = address, .data_len = 4 };

	return answer(q, &a, ret, room);
}

size_t dns_answer_aaaa(const struct dns_question *q, const uint8_t address[16],
		       uint8_t *ret, size_t room)
{
	struct answer a = { .type = DNS_AAAA, .data = address, .data_len = 16 };

	return answer(q, &a, ret, room);
}

/* Returns the length of a name on the wire, or 0 if it is none. */
static size_t name_to_wire(const char *name, uint8_t to[NAME_MAX_WIRE])
{
	size_t at = 0, len = strlen(name);

	if (len == 0 || len >= DNS_NAME_SIZE)
		return 0;
	while (*name) {
		size_t label = strcspn(name, ".");
		if (label == 0 || label > LABEL_MAX)
			return 0;
		to[at++] = (uint8_t)label;
		memcpy(to + at, name, label);
		at += label;
		name += label;
		name += *name == '.' && name[1];
		if (*name == '.')
			return 0;
	}
	to[at++] = 0;
	return at;
}

size_t dns_answer_ptr(const struct dns_question *q, const char *name, uint8_t *ret,
		      size_t room)
{
	uint8_t wire[NAME_MAX_WIRE];
	struct answer a = { .type = DNS_PTR, .data = wire };

	a.data_len = name_to_wire(name, wire);
	if (a.data_len == 0)
		return dns_answer_empty(q, DNS_SERVFAIL, ret, room);
	return answer(q, &a, ret, room);
}

/* --- names of addresses ------------------------------------------------------ */

/* Reads one decimal label and its dot.  Returns the place behind it, or NULL. */
static const char *read_octet(const char *at, uint8_t *ret)
{
	size_t digits = strspn(at, "0123456789");
	unsigned value = 0;

	if (digits == 0 || digits > 3 || at[digits] != '.' || (digits > 1 && *at == '0'))
		return NULL;
	for (size_t i = 0; i < digits; i++)
		value = value * 10 + (unsigned)(at[i] - '0');
	if (value > 255)
		return NULL;
	*ret = (uint8_t)value;
	return at + digits + 1;
}

/* Both forms have the address's last part first. */
static size_t read_v4(const char *at, uint8_t ret[16])
{
	for (int i = 3; i >= 0 && at; i--)
		at = read_octet(at, &ret[i]);
	return at && strcasecmp(at, "in-addr.arpa") == 0 ? 4 : 0;
}

static size_t read_v6(const char *at, uint8_t ret[16])
{
	memset(ret, 0, 16);
	for (int i = 31; i >= 0; i--, at += 2) {
		int value = hex_value(at[0]);
		if (value < 0 || at[1] != '.')
			return 0;
		ret[i / 2] |= (uint8_t)(i % 2 ? value : value << 4);
	}
	return strcasecmp(at, "ip6.arpa") == 0 ? 16 : 0;
}

size_t dns_ptr_address(const char *name, uint8_t ret[16])
{
	uint8_t address[16] = { 0 };
	size_t len = read_v4(name, address);

	if (len == 0)
		len = read_v6(name, address);
	if (len)
		memcpy(ret, address, 16);
	return len;
}
