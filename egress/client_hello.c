#include "egress/client_hello.h"

#include <string.h>

enum {
	RECORD_HEADER = 5,
	RECORD_MAX = 16384, /* of a record's content (RFC 8446, section 5.1) */
	MESSAGE_HEADER = 4,
	RANDOM = 32,
	SESSION_ID_MAX = 32
};

enum content_type { CHANGE_CIPHER = 20, HANDSHAKE = 22, HEARTBEAT = 24 };

enum message_type { CLIENT_HELLO = 1, SERVER_HELLO = 2 };

enum extension {
	SERVER_NAME = 0,
	ALPN = 16,
	ECH = 0xfe0d,
	ESNI = 0xffce, /* the draft that ECH has replaced */
	ECH_DRAFT_FIRST = 0xfe08,
	ECH_DRAFT_LAST = 0xfe0c
};

/* Bytes that are read: `at` never passes `end`. After a read that found too few bytes
 * `is_bad` is set, and every later read gives 0. */
struct in {
	const uint8_t *at, *end;
	bool is_bad;
};

static size_t left(const struct in *in)
{
	return (size_t)(in->end - in->at);
}

/* Takes the next `len` bytes as a part of its own; an empty part if there are fewer. */
static struct in take(struct in *in, size_t len)
{
	if (in->is_bad || left(in) < len) {
		in->is_bad = true;
		return (struct in){ .at = in->end, .end = in->end, .is_bad = true };
	}
	in->at += len;
	return (struct in){ .at = in->at - len, .end = in->at };
}

static size_t take_number(struct in *in, size_t bytes)
{
	struct in part = take(in, bytes);
	size_t value = 0;

	while (part.at < part.end)
		value = value << 8 | *part.at++;
	return value;
}

/* Takes a vector: a length of `bytes` bytes, and as many bytes as it says. */
static struct in take_vector(struct in *in, size_t bytes)
{
	size_t len = take_number(in, bytes);

	return take(in, len);
}

/* --- records ---------------------------------------------------------------- */

/* The content of handshake records, one behind the other. */
struct message {
	uint8_t bytes[CLIENT_HELLO_MAX];
	size_t len;
};

/* Whether the first bytes are of no protocol that a TLS server reads.  Some servers (Go's
 * crypto/tls) take any version below 0x1000 in the first record, and some let an alert
 * come first, so each type of record begins TLS here.  A first byte with the highest bit
 * may begin SSLv2's hello, whose third byte is the message's type. */
static enum hello_verdict look_at_start(const uint8_t *bytes, size_t len)
{
	bool is_record = len && bytes[0] >= CHANGE_CIPHER && bytes[0] <= HEARTBEAT;
	bool is_ssl2 = len && (bytes[0] & 0x80);

	if (len == 0 || (is_record && len < 2) || (is_ssl2 && len < 3))
		return HELLO_NEED_MORE;
	if (is_ssl2)
		return bytes[2] == CLIENT_HELLO ? HELLO_MALFORMED : HELLO_NOT_TLS;
	if (!is_record || bytes[1] >= 0x10)
		return HELLO_NOT_TLS;
	return bytes[0] == HANDSHAKE && bytes[1] == 3 ? HELLO_DONE : HELLO_MALFORMED;
}

/* Returns the length of the whole message, as far as it is known: its header's until
 * that has come. */
static size_t message_len(const struct message *m)
{
	if (m->len < MESSAGE_HEADER)
		return MESSAGE_HEADER;
	return MESSAGE_HEADER + ((size_t)m->bytes[1] << 16 | (size_t)m->bytes[2] << 8 |
				 m->bytes[3]);
}

/* Adds the part that has come of the record at `in`.  DONE: the message is whole. */
static enum hello_verdict add_record(struct message *m, struct in *in)
{
	if (in->at[0] != HANDSHAKE || (left(in) >= 2 && in->at[1] != 3))
		return HELLO_MALFORMED;
	if (left(in) < RECORD_HEADER) {
		in->at = in->end;
		return HELLO_NEED_MORE;
	}
	size_t len = (size_t)in->at[3] << 8 | in->at[4];
	if (len == 0 || len > RECORD_MAX)
		return HELLO_MALFORMED;
	in->at += RECORD_HEADER;
	size_t have = len < left(in) ? len : left(in);
	memcpy(m->bytes + m->len, in->at, have);
	m->len += have;
	in->at += have;

	if (m->len && m->bytes[0] != CLIENT_HELLO)
		return HELLO_MALFORMED;
	size_t whole = message_len(m);
	if (whole > CLIENT_HELLO_MAX - RECORD_HEADER)
		return HELLO_TOO_LARGE;
	/* The record must end where the message does: bytes behind that would be a
	 * second message. */
	if (m->len >= MESSAGE_HEADER && m->len - have + len > whole)
		return HELLO_MALFORMED;
	return m->len == whole ? HELLO_DONE : HELLO_NEED_MORE;
}

/* Joins the records of the first message. */
static enum hello_verdict join(const uint8_t *bytes, size_t len, struct message *m)
{
	bool is_long = len > CLIENT_HELLO_MAX;
	struct in in = { .at = bytes, .end = bytes + (is_long ? CLIENT_HELLO_MAX : len) };
	enum hello_verdict verdict = HELLO_NEED_MORE;

	m->len = 0;
	while (left(&in) && verdict == HELLO_NEED_MORE)
		verdict = add_record(m, &in);
	if (verdict == HELLO_NEED_MORE && len >= CLIENT_HELLO_MAX)
		return HELLO_TOO_LARGE;
	return verdict;
}

/* --- extensions ------------------------------------------------------------- */

static bool is_grease(size_t number)
{
	return (number & 0x0f0f) == 0x0a0a && number >> 8 == (number & 0xff);
}

static bool is_printable(uint8_t c)
{
	return c > ' ' && c < 0x7f;
}

/* Reads a list with exactly one name, of the only kind that there is. */
static bool read_server_name(struct in in, struct client_hello *ret)
{
	struct in list = take_vector(&in, 2);
	size_t kind = take_number(&list, 1);
	struct in name = take_vector(&list, 2);

	if (list.is_bad || left(&list) || left(&in) || kind != 0)
		return false;
	size_t len = left(&name);
	if (len == 0 || len >= CLIENT_HELLO_NAME)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!is_printable(name.at[i]))
			return false;
	memcpy(ret->name, name.at, len);
	ret->name[len] = '\0';
	ret->has_name = true;
	return true;
}

/* Adds a protocol to the text, if there is room. */
static void add_protocol(struct client_hello *ret, struct in name)
{
	size_t len = strlen(ret->alpn), comma = len ? 1 : 0;

	if (left(&name) == 2 && is_grease((size_t)name.at[0] << 8 | name.at[1]))
		return;
	if (len + comma + left(&name) >= sizeof(ret->alpn))
		return;
	if (comma)
		ret->alpn[len++] = ',';
	for (; name.at < name.end; name.at++)
		ret->alpn[len++] = is_printable(*name.at) && *name.at != ',' ?
					   (char)*name.at :
					   '?';
	ret->alpn[len] = '\0';
}

static bool read_alpn(struct in in, struct client_hello *ret)
{
	struct in list = take_vector(&in, 2);

	if (list.is_bad || left(&in) || left(&list) == 0)
		return false;
	ret->has_alpn = true;
	while (left(&list)) {
		struct in name = take_vector(&list, 1);
		if (list.is_bad || left(&name) == 0)
			return false;
		add_protocol(ret, name);
	}
	return true;
}

static bool read_extension(size_t type, struct in body, struct client_hello *ret)
{
	if (type == SERVER_NAME)
		return read_server_name(body, ret);
	if (type == ALPN)
		return read_alpn(body, ret);
	if (type == ECH || type == ESNI ||
	    (type >= ECH_DRAFT_FIRST && type <= ECH_DRAFT_LAST))
		ret->has_ech = true;
	return true;
}

/* Two extensions of one type are refused (RFC 8446, section 4.2): servers differ in
 * which of the two they take. */
static bool read_extensions(struct in in, struct client_hello *ret)
{
	uint8_t seen[65536 / 8] = { 0 };

	while (left(&in)) {
		size_t type = take_number(&in, 2);
		struct in body = take_vector(&in, 2);
		if (in.is_bad || seen[type / 8] & 1 << type % 8)
			return false;
		seen[type / 8] |= (uint8_t)(1 << type % 8);
		if (!read_extension(type, body, ret))
			return false;
	}
	return true;
}

static bool read_hello(struct in in, struct client_hello *ret)
{
	size_t version = take_number(&in, 2);
	(void)take(&in, RANDOM); /* whatever it is */
	struct in session = take_vector(&in, 1);
	struct in ciphers = take_vector(&in, 2);
	struct in compression = take_vector(&in, 1);

	if (in.is_bad || version >> 8 != 3 || left(&session) > SESSION_ID_MAX ||
	    left(&ciphers) == 0 || left(&ciphers) % 2 || left(&compression) == 0)
		return false;
	if (left(&in) == 0)
		return true; /* before TLS 1.3, extensions may be missing */
	struct in extensions = take_vector(&in, 2);
	return !in.is_bad && left(&in) == 0 && read_extensions(extensions, ret);
}

enum hello_verdict client_hello_parse(const uint8_t *bytes, size_t len,
				      struct client_hello *ret)
{
	struct client_hello hello = { 0 };
	struct message m;
	enum hello_verdict verdict = look_at_start(bytes, len);

	if (verdict != HELLO_DONE)
		return verdict;
	verdict = join(bytes, len, &m);
	if (verdict != HELLO_DONE)
		return verdict;
	struct in in = { .at = m.bytes + MESSAGE_HEADER, .end = m.bytes + m.len };
	if (!read_hello(in, &hello))
		return HELLO_MALFORMED;
	*ret = hello;
	return HELLO_DONE;
}

/* --- the server's first flight ------------------------------------------------ */

/* The random of a HelloRetryRequest: SHA-256 of "HelloRetryRequest" (RFC 8446, section
 * 4.1.3). */
static const uint8_t retry_random[RANDOM] = {
	0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c,
	0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb,
	0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c
};

/* A server may put further messages into the record of its ServerHello, so only as much
 * is read as the random needs. */
enum hello_verdict client_hello_is_retry(const uint8_t *bytes, size_t len, bool *ret)
{
	enum { RANDOM_AT = RECORD_HEADER + MESSAGE_HEADER + 2 };

	if ((len > 0 && bytes[0] != HANDSHAKE) || (len > 1 && bytes[1] != 3) ||
	    (len > RECORD_HEADER && bytes[RECORD_HEADER] != SERVER_HELLO))
		return HELLO_MALFORMED;
	/* No server splits the first bytes of its hello over records. */
	if (len >= RECORD_HEADER &&
	    (bytes[3] << 8 | bytes[4]) < RANDOM_AT + RANDOM - RECORD_HEADER)
		return HELLO_MALFORMED;
	if (len < RANDOM_AT + RANDOM)
		return HELLO_NEED_MORE;
	*ret = memcmp(bytes + RANDOM_AT, retry_random, RANDOM) == 0;
	return HELLO_DONE;
}
