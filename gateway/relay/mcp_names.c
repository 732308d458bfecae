#include "gateway/relay/mcp_names.h"

#include <stdbool.h>
#include <string.h>

#include "base/list.h"

/* Returns where the rest of "scheme://rest" begins; NULL: it has another form. */
static const char *rest_of(const char *uri)
{
	const char *colon = strstr(uri, "://");

	return colon ? colon + 3 : NULL;
}

char *mcp_names_out(const struct mcp_names *n, size_t server, const char *name)
{
	return n->count == 1 ? text_copy(name)
			     : text_format("%s_%s", n->servers[server], name);
}

char *mcp_names_uri_out(const struct mcp_names *n, size_t server, const char *uri)
{
	const char *rest = rest_of(uri);

	if (n->count == 1 || !rest)
		return text_copy(uri);
	return text_format("%.*s%s/%s", (int)(rest - uri), uri, n->servers[server], rest);
}

/* Finds the server whose name stands in front of `text`, with `separator` behind it. */
static bool find(const struct mcp_names *n, const char *text, char separator,
		 size_t *ret_server)
{
	size_t longest = 0;

	for (size_t i = 0; i < n->count; i++) {
		size_t len = strlen(n->servers[i]);
		if (len <= longest || strncmp(text, n->servers[i], len) != 0 ||
		    text[len] != separator)
			continue;
		longest = len;
		*ret_server = i;
	}
	return longest > 0;
}

char *mcp_names_in(const struct mcp_names *n, const char *name, size_t *ret_server)
{
	*ret_server = 0;
	if (n->count == 1)
		return text_copy(name);
	if (!find(n, name, '_', ret_server))
		return NULL;
	return text_copy(name + strlen(n->servers[*ret_server]) + 1);
}

char *mcp_names_uri_in(const struct mcp_names *n, const char *uri, size_t *ret_server)
{
	const char *rest = rest_of(uri);

	*ret_server = 0;
	if (n->count == 1)
		return text_copy(uri);
	if (!rest || !find(n, rest, '/', ret_server))
		return NULL;
	return text_format("%.*s%s", (int)(rest - uri), uri,
			   rest + strlen(n->servers[*ret_server]) + 1);
}
