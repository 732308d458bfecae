#include "store/digest.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"

#define PREFIX "sha256:"

bool digest_is_hex(const char *hex)
{
	return strspn(hex, "0123456789abcdef") == DIGEST_HEX && !hex[DIGEST_HEX];
}

int digest_parse(const char *text, struct digest *ret, struct err *e)
{
	const size_t prefix = sizeof(PREFIX) - 1;

	if (!strncmp(text, PREFIX, prefix) && digest_is_hex(text + prefix)) {
		memcpy(ret->hex, text + prefix, sizeof(ret->hex));
		return 0;
	}
	if (strncmp(text, PREFIX, prefix) && strchr(text, ':'))
		return err_set(e, ERR_USAGE,
			       "'%.100s' is a digest of an algorithm that hutch "
			       "does not know: sha256 is the one",
			       text);
	return err_set(e, ERR_USAGE, "'%.100s' is no digest: sha256: and 64 of 0-9 a-f",
		       text);
}

void digest_print(const struct digest *d, char ret[DIGEST_TEXT])
{
	(void)snprintf(ret, DIGEST_TEXT, PREFIX "%s", d->hex);
}

bool digest_equal(const struct digest *a, const struct digest *b)
{
	return !strcmp(a->hex, b->hex);
}
