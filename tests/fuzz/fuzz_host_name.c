/* Names that a guest asks for: a name that is accepted has one form, which is accepted
 * again as it is, is in bounds, and is never an address, for inet_aton(3) neither. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "policy/egress/host_name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_name(const struct host_name *n)
{
	struct host_name again;
	struct in_addr v4;

	if (n->len == 0 || n->len > HOST_NAME_BYTES_MAX || strlen(n->text) != n->len)
		abort();
	if (strspn(n->text, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != n->len)
		abort();
	if (host_name_read(&again, n->text, n->len) || strcmp(again.text, n->text) != 0)
		abort();
	if (inet_aton(n->text, &v4))
		abort();
	(void)host_name_is_special(n);
	if (host_name_is_below(n, n->text))
		abort();
}

/* The same name label by label, as DNS has it. */
static void check_labels(const char *text, size_t len, const struct host_name *wanted)
{
	struct host_name n = { 0 };
	enum host_name_fault f = HOST_NAME_GOOD;

	for (size_t at = 0; at < len && !f;) {
		const char *dot = memchr(text + at, '.', len - at);
		size_t label = dot ? (size_t)(dot - text) - at : len - at;
		f = host_name_add_label(&n, text + at, label);
		at += label + 1;
	}
	if (!f)
		f = host_name_end(&n);
	if (wanted && (f || strcmp(n.text, wanted->text) != 0))
		abort();
	if (!f)
		check_name(&n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size ? size : 1); /* so that a read behind the end is seen */
	struct host_name n;

	if (!text)
		abort();
	if (size)
		memcpy(text, data, size);
	enum host_name_fault f = host_name_read(&n, text, size);
	if (!host_name_fault_text(f))
		abort();
	if (!f)
		check_name(&n);
	check_labels(text, size, f ? NULL : &n);
	free(text);
	return 0;
}
