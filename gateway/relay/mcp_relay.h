/* mcp_relay -- stands between one MCP client and the servers that it uses as one.
 *
 *	struct mcp_relay *r = mcp_relay_new(names, count);
 *
 *	mcp_relay_post(r, text, len, now)	the client sent a message
 *	mcp_relay_heard(r, i, bytes, len)	server i wrote to its stdout
 *	mcp_relay_ended(r, i)			server i has ended, or was never started
 *	mcp_relay_tick(r, now)			at mcp_relay_due()
 *
 *	while (mcp_relay_next(r, &line)) ...	behind each of these: lines to be sent
 *	mcp_relay_free(r);
 *
 * One server: its messages go through, with other ids.  Several: `initialize` goes to
 * all, and the answer has the oldest of their versions and the capabilities of all;
 * lists are merged, with names as in mcp_names.h; a call goes to the server that its
 * name begins with.  A server that has ended, or does not answer `initialize` or a list
 * in time, is left out of the merged answer; a request that it had alone is answered
 * with an error.
 *
 * Servers may be hostile.  A line that is no message is dropped: servers print notes to
 * their stdout.  Such a line that begins with "{" while a single request waits for that
 * server ends the request with an error, or its client would wait for ever.  Lines,
 * requests under way and merged lists are bounded; beyond a bound the server counts as
 * ended.  The lines that wait are bounded by the caller (mcp_relay_waiting).
 *
 * Sources: Model Context Protocol 2025-11-25. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mcp_relay;

#define MCP_SERVERS_MAX 32
#define MCP_LINE_MAX	(16u << 20) /* bytes of a message */
#define MCP_CALLS_MAX	1024	    /* requests under way, of both sides */
#define MCP_PAGES_MAX	64	    /* pages of one server's list */
#define MCP_PATIENCE_MS 30000	    /* for `initialize` and for a list */

#define MCP_CLIENT SIZE_MAX /* the receiver of a line that is no server */

struct mcp_line {
	size_t to;  /* MCP_CLIENT, or a server's index */
	char *text; /* owned by the caller; one line, without a line end */
	size_t len;
};

/* The names are borrowed until mcp_relay_free(); `count` is 1 to MCP_SERVERS_MAX. */
struct mcp_relay *mcp_relay_new(const char *const *names, size_t count);
void mcp_relay_free(struct mcp_relay *r);

/* Takes a message of the client's; `now` is in ms.  Returns false if it is no message of
 * JSON-RPC: nothing has happened then. */
bool mcp_relay_post(struct mcp_relay *r, const char *text, size_t len, int64_t now);
void mcp_relay_heard(struct mcp_relay *r, size_t server, const void *bytes, size_t len);
void mcp_relay_ended(struct mcp_relay *r, size_t server);

/* When mcp_relay_tick() has to be called, in ms; 0: no answer is waited for. */
int64_t mcp_relay_due(const struct mcp_relay *r);
void mcp_relay_tick(struct mcp_relay *r, int64_t now);

bool mcp_relay_next(struct mcp_relay *r, struct mcp_line *ret);
/* How many bytes wait to be taken. */
size_t mcp_relay_waiting(const struct mcp_relay *r);
/* Whether a server has ended, also one that runs and went beyond a bound. */
bool mcp_relay_has_ended(const struct mcp_relay *r, size_t server);
/* Whether all servers have ended. */
bool mcp_relay_is_over(const struct mcp_relay *r);
