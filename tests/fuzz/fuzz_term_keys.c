/* The name of a key is arbitrary text.  Its bytes fit, and with Control it is
 * one byte. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/term_keys.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct bytes name = { data, size };
	char bytes[KEY_MAX] = { 0 };
	size_t len = key_find(name, bytes);
	char c = key_control(name);

	if (len > KEY_MAX || (c && len > 1) || (c && data[size - 1] != (uint8_t)c))
		abort();
	if (key_is_signal(bytes, len) && len != 1)
		abort();
	/* key_for_application() changes a byte in the middle of an arrow's sequence
	 * at most. */
	char first = bytes[0], last = len ? bytes[len - 1] : 0;
	key_for_application(bytes, len);
	if (len && (bytes[0] != first || bytes[len - 1] != last))
		abort();
	return 0;
}
