/* reply -- the messages that the server sends, each one JSON object without a line end.
 *
 * All texts are allocated.  `id` is that of the request as JSON; NULL: null, which stands
 * for an id that could not be read. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/* `data`: JSON; NULL: there is none. */
char *reply_error(const char *id, int code, const char *message, const char *data);

/* `members`: those of the result, as JSON without braces; may be "".  A modern result
 * begins with its type, `type`, and ends with the name of the server. */
char *reply_result(const char *id, const char *members, bool is_modern, const char *type);

char *reply_notification(const char *method, const char *params);
char *reply_request(const char *id, const char *method, const char *params);

/* Writes the member "serverInfo", or with another key the same. */
void reply_server_info(struct buffer *b, const char *key);
