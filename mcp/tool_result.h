/* tool_result -- the result of a tool, under construction. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

#define TOOL_RESULT_TEXT_MAX (256u << 10) /* bytes of a text */
#define TOOL_RESULT_FILE_MAX (8u << 20)

struct tool_result {
	struct buffer content;	  /* the items of `content`, as JSON */
	struct buffer structured; /* the members of `structuredContent` */
};

void tool_result_init(struct tool_result *r);
/* Adds an item with a text, of which the middle is left out where it is too long. */
void tool_result_text(struct tool_result *r, const void *bytes, size_t len);
/* Adds the member `key` of the structured content, cut in the same way, and the number of
 * bytes that were left out. */
void tool_result_member(struct tool_result *r, const char *key, const void *bytes,
			size_t len);
/* Adds an image, or another file that `path` names, from a "data:" URL.  Returns false if
 * the text is none; a file of more than TOOL_RESULT_FILE_MAX bytes of base64 is told
 * about instead. */
bool tool_result_data_url(struct tool_result *r, const char *url, const char *path);

/* Returns the members of the protocol's result, allocated, and releases `r`. */
char *tool_result_end(struct tool_result *r);
/* Returns the members of a result that says why a tool has failed. */
char *tool_result_failure(const char *text);
