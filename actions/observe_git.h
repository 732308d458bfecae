/* observe_git -- reads the answers of git errands (docs/protocol.md, "errand").
 *
 * The text comes from inside and is untrusted: lines of known keys, lengths and
 * numbers in range are accepted, and everything else makes the answer an error. */
#pragma once
#include <stdbool.h>

struct buffer;
struct observed;

/* Writes members of the object `hutch` for the answer to a git errand.  *ret_content,
 * allocated, is the text for a model; NULL: the answer's own text is for the model.
 * False: the text is no answer to this kind of action. */
bool observe_git(const struct observed *o, struct buffer *members, char **ret_content);
