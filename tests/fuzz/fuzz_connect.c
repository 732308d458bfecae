/* Splits the bytes of a client of E2B into messages.  Each lies within the bytes, each taken one
 * shortens what is left, and written again they are the same bytes: a message has one header, so
 * that two readers cannot see different ones. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/connect_frames.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *at = (const char *)data, *end = at + size;
	uint8_t header[CONNECT_HEADER];
	struct connect_frame f;
	size_t left = size;
	int found;

	for (;;) {
		const char *before = at;

		found = connect_next(&at, &left, &f);
		if (at + left != end)
			abort();
		if (found != 1) {
			if (at != before || (found == 0) != (left == 0))
				abort();
			return 0;
		}
		if (f.text != before + CONNECT_HEADER || f.text + f.len != at ||
		    f.len > CONNECT_MESSAGE_MAX)
			abort();
		connect_header(0, f.len, header);
		if (memcmp(header, before, CONNECT_HEADER) != 0)
			abort();
	}
}
