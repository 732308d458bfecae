/* observe_parts -- functions that write the parts of an observation's line:
 *
 *	{"observation":KIND  ,"KEY":TEXT ...  ,"cause":...,"hutch":{...}} */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct buffer;
struct observed;
struct stat_result;

void observe_kind(struct buffer *out, const char *kind);

/* Writes a member whose value is a text; NULL: the value is null. */
void observe_member(struct buffer *out, const char *key, const char *text);

/* Writes the last two members of an observation, `cause` and `hutch`, and ends the
 * line. */
void observe_end(struct buffer *out, const struct observed *o, uint64_t cut,
		 bool is_restarted);

/* Returns a word for the type of file in an st_mode: "file", "folder", "link", ... */
const char *observe_type(uint32_t mode);
