/* Reads arbitrary text as base64: accepted text must be exactly what the writer
 * makes of the decoded bytes.  And arbitrary bytes must survive writing and
 * reading. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/own.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Decodes into a buffer of exactly the size that the header promises, so that a
 * sanitizer sees a write beyond it. */
static void read_it(const uint8_t *data, size_t size)
{
	AUTO_FREE char *text = malloc(size + !size);
	AUTO_FREE uint8_t *bytes = malloc(size / 4 * 3 + !(size / 4));
	AUTO_FREE uint8_t *again = malloc(size + !size);
	size_t len;

	if (!text || !bytes || !again)
		abort();
	memcpy(text, data, size);
	if (!base64_decode(text, size, bytes, &len))
		return;
	if (base64_length(len) != size || base64_encode(bytes, len, again) != size ||
	    memcmp(again, data, size) != 0)
		abort();
}

static void write_it(const uint8_t *data, size_t size)
{
	size_t len, got = base64_length(size);
	AUTO_FREE uint8_t *text = malloc(got + !got);
	AUTO_FREE uint8_t *bytes = malloc(got + !got);

	if (!text || !bytes || base64_encode(data, size, text) != got ||
	    !base64_decode((const char *)text, got, bytes, &len) || len != size ||
	    (size && memcmp(bytes, data, size) != 0))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	read_it(data, size);
	write_it(data, size);
	return 0;
}
