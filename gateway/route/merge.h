/* merge -- lists of several pods become one.
 *
 * An answer that is not JSON in its form is left out, and so is its pod. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct buffer;

enum merge_form { MERGE_ARRAY, MERGE_RUNTIMES, MERGE_SANDBOXES, MERGE_FORMS };

/* merge_begin(), merge_add() for each pod, merge_end(): `to` has the text.  merge_add()
 * returns false where the answer has another form, and then adds nothing. */
void merge_begin(enum merge_form form, struct buffer *to);
bool merge_add(enum merge_form form, const char *text, size_t len, struct buffer *to);
void merge_end(enum merge_form form, struct buffer *to);
