/* A WWW-Authenticate header with any bytes: a challenge that is read fits its
 * buffers, ends, and has no control character; a refused one leaves nothing. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "rootfs-tools/registry/challenge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void claim(int is_so)
{
	if (!is_so)
		abort();
}

static void check(const char *text, size_t room)
{
	const size_t len = strnlen(text, room);

	claim(len < room);
	for (size_t i = 0; i < len; i++)
		claim((unsigned char)text[i] >= ' ' && text[i] != 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *header = malloc(size + 1);
	struct challenge c = { 0 };
	struct err e = { 0 };

	claim(header != NULL);
	if (size)
		memcpy(header, data, size);
	header[size] = '\0';
	if (challenge_read(header, &c, &e) < 0)
		claim(c.scheme == CHALLENGE_NONE && e.kind == ERR_PROTOCOL);
	check(c.realm, sizeof(c.realm));
	check(c.service, sizeof(c.service));
	check(c.scope, sizeof(c.scope));
	claim(c.scheme != CHALLENGE_NONE || (!*c.realm && !*c.service && !*c.scope));
	free(header);
	return 0;
}
