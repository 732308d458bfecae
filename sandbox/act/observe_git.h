/* observe_git -- what git says, as the inside tells it (docs/protocol.md, "errand").
 *
 * It is anybody's text: it is read as lines of known keys, lengths and numbers that fit,
 * and what is anything else makes it an error. */
#pragma once
#include <stdbool.h>

struct buffer;
struct observed;

/* Members of `hutch`, each with a comma behind it, and in *ret_content, allocated, what
 * a model reads, where that is not the text itself; NULL: it is.  False: it is not what
 * that kind of action is answered by. */
bool observe_git(const struct observed *o, struct buffer *members, char **ret_content);
