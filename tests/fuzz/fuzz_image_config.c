/* The configuration of a base image is arbitrary bytes.  A configuration that
 * is read and printed can be read again, and is the same. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "rootfs-tools/build/image_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image_config first = { 0 }, second = { 0 };
	struct err e = { 0 };

	if (image_config_parse((const char *)data, size, &first, &e) == 0) {
		list_done(&first.diff_ids);
		/* Emptied together with the diff_ids: it describes these layers. */
		list_done(&first.history);
		image_config_label(&first, "l", "v");
		image_config_touch(&first, 0);
		image_config_add_history(&first, "RUN x", false);
		char *text = image_config_print(&first);
		if (image_config_parse(text, strlen(text), &second, &e) < 0)
			abort();
		char *again = image_config_print(&second);
		if (strcmp(text, again) != 0)
			abort();
		free(text);
		free(again);
	} else if (e.kind == ERR_NONE) {
		abort();
	}
	image_config_done(&first);
	image_config_done(&second);
	return 0;
}
