/* observe_git -- reads the answers of git errands (docs/protocol.md, "errand").
 *
 * The text comes from the sandbox and is not trusted: lines with known keys, and
 * lengths and numbers in range are accepted; anything else makes the answer an error. */
#pragma once
#include <stdbool.h>

struct buffer;
struct observed;

/* Writes the members of the object `hutch` for the answer to a git errand. *ret_content,
 * allocated, is the text for the model; NULL: it is the answer's own text. False: the
 * text is no valid answer to this kind of action. */
bool observe_git(const struct observed *o, struct buffer *members, char **ret_content);
