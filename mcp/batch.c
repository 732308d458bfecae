#include "mcp/batch.h"

#include <stdlib.h>

#include "base/json_write.h"
#include "base/list.h"
#include "base/mem.h"

struct batch *batch_new(void)
{
	struct batch *b = mem_zeroed(1, sizeof(*b));

	json_write_begin(&b->answers);
	b->open = 1;
	return b;
}

char *batch_add(struct batch *b, const char *answer)
{
	char *line = NULL;

	if (answer && !buffer_len(&b->answers))
		json_write_open(&b->answers, NULL, "[");
	if (answer)
		json_write_raw(&b->answers, NULL, answer);
	if (--b->open)
		return NULL;
	if (buffer_len(&b->answers)) {
		json_write_close(&b->answers, "]");
		line = json_write_end(&b->answers);
	}
	buffer_done(&b->answers);
	free(b);
	return line ? line : text_copy("");
}
