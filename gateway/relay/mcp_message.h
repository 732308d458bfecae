/* mcp_message -- reads and writes the messages of MCP, which are those of JSON-RPC 2.0.
 *
 * Members that the relay does not know go through as their source text, so that nothing
 * is lost.  A message that is written is one line without a line end: white space
 * between values may be a line end, and a value has none.
 *
 * Sources: Model Context Protocol 2025-11-25, "Base Protocol"; JSON-RPC 2.0. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/json/json.h"

struct buffer;

/* The kinds of messages. */
enum mcp_kind {
	MCP_BAD,      /* no message */
	MCP_REQUEST,  /* `method` and `id` */
	MCP_NOTICE,   /* `method` alone: a notification */
	MCP_RESPONSE, /* `id` and a `result` or `error` */
};

struct mcp_message {
	struct json *doc; /* owned */
	enum mcp_kind kind;
	const char
		*method; /* "": a response.  This and all below belong to `doc` or to the
			     * text that was read */
	struct json_at root, id, params, result, error;
};

/* Reads a message; the text must stay until mcp_message_done().  MCP_BAD: the text is
 * none, or several. */
enum mcp_kind mcp_message_read(struct mcp_message *m, const char *text, size_t len);
void mcp_message_done(struct mcp_message *m);

/* The number of an id that the relay gave; 0: another id. */
uint64_t mcp_message_number(const struct mcp_message *m);

/* The source text of a value, allocated. */
char *mcp_source(const struct json_at *at);

/* Another value for a member. */
struct mcp_swap {
	const char *key;
	const char *json; /* borrowed; NULL: the member is left as it is */
};

/* Writes an object with the swapped values in place of its own; NULL behind the last
 * swap's key.  A member that the object does not have is not added.  `key`: as for
 * json_write_open(). */
void mcp_write_object(struct buffer *to, const char *key, const struct json_at *object,
		      const struct mcp_swap *swaps);
/* The same as a text, allocated. */
char *mcp_object(const struct json_at *object, const struct mcp_swap *swaps);

/* A request, a notification (`id` NULL), or an answer; `id`, `params` and `result` are
 * JSON, and `params` may be NULL.  Allocated. */
char *mcp_request(const char *id, const char *method, const char *params);
char *mcp_result(const char *id, const char *result);
char *mcp_error(const char *id, int code, const char *message);

#define MCP_UNKNOWN_METHOD (-32601)
#define MCP_BAD_PARAMS	   (-32602)
#define MCP_FAILED	   (-32603)

/* Puts blanks in place of line ends. */
void mcp_one_line(char *text);
