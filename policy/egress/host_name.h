/* host_name -- a DNS name in the one form in which rules and questions are compared.
 *
 * A name is in lower case, without a dot at its end, and made of labels of letters,
 * digits, '-' and '_' (an LDH label, RFC 5890 section 2.3.1, and the underscore of RFC
 * 8552).  A label has 1 to 63 bytes and neither begins nor ends with '-'; a name has at
 * most 253 (RFC 1035 section 2.3.4).  An internationalised name is accepted as its
 * A-labels ("xn--..."), never as Unicode.
 *
 * A name must not be mistakable for an address.  A last label that is a number, in
 * decimal or in hexadecimal with "0x", is refused, as the URL Standard ("ends in a
 * number checker") has it: this covers 127.0.0.1, 127.1, 2130706433, 0177.0.0.1 and
 * 0x7f.1, all of which inet_aton(3) takes.  Brackets, colons, '%' and '@' are no bytes
 * of a label, so [::1], fe80::1%eth0 and user@host are refused too.
 *
 * The text may come from inside a sandbox: nothing is read beyond `len`, nothing is
 * allocated, and the time is linear in at most 255 bytes. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOST_NAME_BYTES_MAX 253
#define HOST_NAME_LABEL_MAX 63

/* A name that is being built, or complete.  The zero object is an empty name. */
struct host_name {
	char text[HOST_NAME_BYTES_MAX + 1]; /* ends with NUL */
	uint8_t len;
};

enum host_name_fault {
	HOST_NAME_GOOD,
	HOST_NAME_EMPTY,       /* there is no label */
	HOST_NAME_LONG,	       /* more than 253 bytes */
	HOST_NAME_LABEL_EMPTY, /* two dots in a row, or one at the begin */
	HOST_NAME_LABEL_LONG,  /* more than 63 bytes between two dots */
	HOST_NAME_BYTE,	       /* a byte that is no letter, digit, '-', '_' */
	HOST_NAME_UNICODE,     /* a byte above 127: the name is to be written as xn-- */
	HOST_NAME_HYPHEN,      /* a label begins or ends with '-', or is "xn--" alone */
	HOST_NAME_NUMBER,      /* the last label is a number: an address, or a form of one */
	HOST_NAME_FAULTS
};

/* Reads a whole name; one dot at its end is dropped.  *ret is untouched on failure. */
enum host_name_fault host_name_read(struct host_name *ret, const char *text, size_t len);

/* For names in DNS messages, where a label may hold any byte, a dot included: add each
 * label to a zeroed name, then end the name.  A dot in a label is HOST_NAME_BYTE.  The
 * name is of no use after a fault. */
enum host_name_fault host_name_add_label(struct host_name *n, const void *label,
					 size_t len);
enum host_name_fault host_name_end(const struct host_name *n);

/* Returns a clause for an error, such as "a label has more than 63 bytes". */
const char *host_name_fault_text(enum host_name_fault fault);

/* Returns whether `name` stands below `zone` by one label or more: a.b.c is below b.c and
 * below c.  b.c is not below itself, and ab.c is not below b.c. */
bool host_name_is_below(const struct host_name *name, const char *zone);

/* Returns whether the public DNS has no such name by definition: single labels and the
 * special zones local, internal, localhost, arpa, onion, invalid, test and example.  The
 * answer to a question for such a name that no rule allows is NXDOMAIN. */
bool host_name_is_special(const struct host_name *name);
