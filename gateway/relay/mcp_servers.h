/* mcp_servers -- the MCP servers that a client of the action server configures: the
 * body of POST /update_mcp_server, a list of {"name","command","args","env"}.
 *
 * The rules are those of OpenHands 0.62 (core/config/mcp_config.py): a name has
 * letters, digits, "-" and "_"; a command has no space; args are a list, or a text that
 * is split as by Python's shlex; env is an object, or a text K=V,K=V; other members are
 * ignored.  The last of equal names counts. */
#pragma once
#include <stddef.h>

#include "base/list.h"
#include "gateway/relay/mcp_relay.h"

struct err;

struct mcp_server {
	char *name;	       /* owned */
	struct list argv, env; /* env: K=V */
};

struct mcp_servers {
	struct mcp_server list[MCP_SERVERS_MAX];
	size_t count;
};

void mcp_servers_done(struct mcp_servers *s);

/* Reads the body; *ret is replaced, and done with mcp_servers_done() also after an
 * error.  ERR_USAGE: the body is JSON, but no list.  ERR_PROTOCOL: the body is no JSON,
 * or an entry breaks a rule.  ERR_LIMIT: there are more than MCP_SERVERS_MAX. */
int mcp_servers_read(struct mcp_servers *ret, const char *text, size_t len,
		     struct err *e);
