/* guard -- refuses requests that a web page makes, or another name of this host leads to.
 *
 * A page of a stranger that is open in the user's browser can send requests to 127.0.0.1, and
 * read the answers where its own name leads there (DNS rebinding).  So the Host must be an
 * address, "localhost" or a name that the operator has given, and an Origin, which only
 * browsers send, one that the operator has given.  */
#pragma once
#include <stdbool.h>

struct serve;

bool guard_allows_host(const struct serve *s, const char *host);
/* NULL: the request has no Origin. */
bool guard_allows_origin(const struct serve *s, const char *origin);
