/* mcp_merge -- one answer out of those of several servers. */
#pragma once
#include <stddef.h>

#include "base/buffer.h"
#include "gateway/relay/mcp_names.h"
#include "policy/json/json.h"

/* Describes how the answers to one method are merged; see mcp_merge_of(). */
struct mcp_merging;

#define MCP_VERSION_MAX 32

struct mcp_merge {
	const struct mcp_merging *how;
	struct buffer *lists;  /* owned; of a list: each server's items, with commas
				* between them, so that the servers' order stays */
	size_t count;	       /* how many servers there are */
	size_t bytes, max;     /* bytes of all items; the most */
	size_t answers;	       /* how many servers have answered */
	unsigned capabilities; /* of `initialize`: bits */
	char version[MCP_VERSION_MAX]; /* the oldest */
};

/* Returns how the answers to a method are merged; NULL: it is asked of one server
 * alone. */
const struct mcp_merging *mcp_merging_of(const char *method);

/* `count`: how many servers there are; `max`: bytes of the merged items. */
void mcp_merge_init(struct mcp_merge *m, const struct mcp_merging *how, size_t count,
		    size_t max);
void mcp_merge_done(struct mcp_merge *m);

const char *mcp_merge_method(const struct mcp_merge *m);

/* Adds the result of a server.  Returns the params of the request for its next page,
 * allocated; NULL: there is none. */
char *mcp_merge_add(struct mcp_merge *m, const struct mcp_names *names, size_t server,
		    const struct json_at *result);

/* Returns the answer to the client's request, allocated. */
char *mcp_merge_answer(const struct mcp_merge *m, const char *id);
