/* quote -- text as JSON writes it.
 *
 * The launcher links no JSON library: it only writes JSON, of which only strings need
 * care. */
#pragma once

/* "text" with its quotes, allocated; control characters and bytes that are no UTF-8
 * are written \u00xx.  NULL, which stands for unknown, is null. */
char *quote_json(const char *text);
