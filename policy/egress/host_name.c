#include "policy/egress/host_name.h"

#include <string.h>

#include "base/own.h"

/* Returns the byte as it stands in a name, or 0 if it stands in none.  <ctype.h> is not
 * used, since it may follow the locale. */
static char name_byte(unsigned char c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c - 'A' + 'a');
	if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_')
		return (char)c;
	return 0;
}

static enum host_name_fault check_hyphens(const char *label, size_t len)
{
	bool is_bare = len == 4 && !memcmp(label, "xn--", 4);

	return is_bare || label[0] == '-' || label[len - 1] == '-' ? HOST_NAME_HYPHEN
								   : HOST_NAME_GOOD;
}

enum host_name_fault host_name_add_label(struct host_name *n, const void *label,
					 size_t len)
{
	const unsigned char *bytes = label;
	size_t dot = n->len > 0;

	if (len == 0)
		return HOST_NAME_LABEL_EMPTY;
	if (len > HOST_NAME_LABEL_MAX)
		return HOST_NAME_LABEL_LONG;
	if (n->len + dot + len > HOST_NAME_BYTES_MAX)
		return HOST_NAME_LONG;
	char *at = n->text + n->len + dot;
	for (size_t i = 0; i < len; i++) {
		at[i] = name_byte(bytes[i]);
		if (!at[i])
			return bytes[i] > 127 ? HOST_NAME_UNICODE : HOST_NAME_BYTE;
	}
	if (dot)
		n->text[n->len] = '.';
	n->len = (uint8_t)(n->len + dot + len);
	n->text[n->len] = '\0';
	return check_hyphens(at, len);
}

/* Returns whether inet_aton(3) could take the label for a part of an address: digits, or
 * "0x" and hexadecimal digits, of which there may be none. */
static bool is_number(const char *label)
{
	const size_t len = strlen(label);

	if (label[0] < '0' || label[0] > '9')
		return false;
	if (label[0] == '0' && label[1] == 'x')
		return strspn(label + 2, "0123456789abcdef") == len - 2;
	return strspn(label, "0123456789") == len;
}

enum host_name_fault host_name_end(const struct host_name *n)
{
	const char *dot = strrchr(n->text, '.');

	if (n->len == 0)
		return HOST_NAME_EMPTY;
	return is_number(dot ? dot + 1 : n->text) ? HOST_NAME_NUMBER : HOST_NAME_GOOD;
}

enum host_name_fault host_name_read(struct host_name *ret, const char *text, size_t len)
{
	struct host_name n = { 0 };
	enum host_name_fault fault;

	if (len > 1 && text[len - 1] == '.')
		len--;
	if (len == 0)
		return HOST_NAME_EMPTY;
	if (len > HOST_NAME_BYTES_MAX)
		return HOST_NAME_LONG;
	for (size_t at = 0; at <= len;) {
		const char *dot = memchr(text + at, '.', len - at);
		size_t label = dot ? (size_t)(dot - text) - at : len - at;
		fault = host_name_add_label(&n, text + at, label);
		if (fault)
			return fault;
		at += label + 1;
	}
	fault = host_name_end(&n);
	if (!fault)
		*ret = n;
	return fault;
}

const char *host_name_fault_text(enum host_name_fault fault)
{
	static const char *const texts[] = {
		[HOST_NAME_GOOD] = "the name is valid",
		[HOST_NAME_EMPTY] = "the name is empty",
		[HOST_NAME_LONG] = "a name has at most 253 bytes",
		[HOST_NAME_LABEL_EMPTY] = "there is nothing between two dots",
		[HOST_NAME_LABEL_LONG] = "a part between two dots has at most 63 bytes",
		[HOST_NAME_BYTE] = "a name has only letters, digits, '-', '_' and '.'",
		[HOST_NAME_UNICODE] = "a name beyond ASCII is written in its xn-- form",
		[HOST_NAME_HYPHEN] = "a part between two dots begins or ends with '-'",
		[HOST_NAME_NUMBER] = "a name does not end with a number",
	};
	_Static_assert(ARRAY_LEN(texts) == HOST_NAME_FAULTS, "a fault has no text");

	return texts[fault];
}

bool host_name_is_below(const struct host_name *name, const char *zone)
{
	const size_t len = strlen(zone);

	return name->len > len + 1 && name->text[name->len - len - 1] == '.' &&
	       !memcmp(name->text + name->len - len, zone, len);
}

/* The zones of RFC 6761 and later that are no part of the public DNS, and "internal",
 * which ICANN has reserved for private use (resolution 2024.07.29.06). */
bool host_name_is_special(const struct host_name *name)
{
	static const char *const zones[] = {
		"local",     /* RFC 6762 */
		"internal",  /* ICANN */
		"localhost", /* RFC 6761 section 6.3 */
		"arpa",	     /* RFC 3172: addresses, and home.arpa of RFC 8375 */
		"onion",     /* RFC 7686 */
		"invalid",   /* RFC 6761 section 6.4 */
		"test",	     /* RFC 6761 section 6.2 */
		"example",   /* RFC 6761 section 6.5 */
	};

	for (size_t i = 0; i < ARRAY_LEN(zones); i++)
		if (host_name_is_below(name, zones[i]))
			return true;
	return !memchr(name->text, '.', name->len);
}
