/* quote -- text as JSON writes it.
 *
 * The launcher links no JSON library: it only writes, and all that is not
 * obvious in that is strings. */
#pragma once

/* "text" with its quotes, allocated; control characters and what is no UTF-8 are
 * written \u00xx.  NULL, which stands for unknown, is null. */
char *quote_json(const char *text);
