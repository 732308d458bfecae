/* label -- the labels of a sandbox, KEY=VALUE, by which its owner's programs find it
 * again; hutch itself reads nothing in them.
 *
 * A key is text without blanks, as with docker; its parts often stand between dots.  A
 * label without a value has the value "".  Values may be any text of UTF-8; whatever
 * prints one to a terminal escapes it.  The labels are a part of a text that is bounded
 * itself (REGISTRY_TEXT_MAX). */
#pragma once
#include "base/list.h"

struct err;

#define LABELS_MAX	 128   /* labels of a sandbox */
#define LABEL_KEY_MAX	 255   /* bytes */
#define LABELS_BYTES_MAX 32768 /* of all labels together, as label_print() has them */

/* Checks KEY or KEY=VALUE, and adds it as KEY=VALUE; it replaces an earlier one with the
 * same key. */
int label_add(struct list *labels, const char *word, struct err *e);

/* Returns the labels as an object of JSON, allocated. */
char *label_print(const struct list *labels);
