/* docker's config.json, and the answers of a helper and of a token server.  The
 * result is a complete pair, a token or nothing; a refused text leaves nothing. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "rootfs-tools/registry/credentials.h"
#include "rootfs-tools/registry/token.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void claim(int is_so)
{
	if (!is_so)
		abort();
}

static void read_file(const char *text, size_t size, const char *registry)
{
	struct credentials c = { 0 };
	char *helper = NULL;
	struct err e = { 0 };

	if (credentials_read(text, size, "FILE", registry, "library/a", &c, &helper, &e) <
	    0)
		claim(!c.user && !c.password && !c.token && e.kind != ERR_NONE);
	claim(!c.from == !(c.token || (c.user && c.password)));
	claim(!c.from || !helper);
	credentials_done(&c);
	free(helper);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct credentials c = { 0 };
	char *token = NULL;
	struct err e = { 0 };

	read_file(text, size, "docker.io");
	read_file(text, size, "q:1");
	if (credentials_read_answer(text, size, &c, &e) < 0)
		claim(!c.user && !c.password && !c.token);
	credentials_done(&c);
	if (token_read(text, size, &token, &e) == 0)
		claim(*token && !strpbrk(token, "\r\n "));
	free(token);
	return 0;
}
