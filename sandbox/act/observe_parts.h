/* observe_parts -- what the line of an observation is put together from.
 *
 *	{"observation":KIND  ,"KEY":TEXT ...  ,"cause":...,"hutch":{...}}
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct buffer;
struct observed;
struct stat_told;

void observe_kind(struct buffer *out, const char *kind);

/* A NULL text is null. */
void observe_member(struct buffer *out, const char *key, const char *text);

/* What is ours, and the end of the line. */
void observe_end(struct buffer *out, const struct observed *o, uint64_t cut,
		 bool is_restarted);

/* "file", "folder", "link", ... of an st_mode. */
const char *observe_type(uint32_t mode);
