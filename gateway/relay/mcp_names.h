/* mcp_names -- names and addresses of several servers, as one client sees them.
 *
 * The form is that of FastMCP 2.12, which OpenHands 0.62 uses: the tool T of the server
 * S is `S_T`, and its resource `scheme://rest` is `scheme://S/rest`.  With one server,
 * all stay as they are. */
#pragma once
#include <stddef.h>

struct mcp_names {
	const char *const *servers; /* borrowed */
	size_t count;
};

/* Return the name for the client, allocated. */
char *mcp_names_out(const struct mcp_names *n, size_t server, const char *name);
char *mcp_names_uri_out(const struct mcp_names *n, size_t server, const char *uri);

/* Find the server of a name that the client sent.  Returns its own name for it,
 * allocated; NULL: no server has that prefix.  Where several have, the longest wins. */
char *mcp_names_in(const struct mcp_names *n, const char *name, size_t *ret_server);
char *mcp_names_uri_in(const struct mcp_names *n, const char *uri, size_t *ret_server);
