#include "supervisor/rpc.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/json_write.h"
#include "base/list.h"

static const char *const keys[] = { "jsonrpc", "id", "method", "params", NULL };

static int get_id(const struct json_at *root, char **ret, struct err *e)
{
	struct json_at id;
	uint64_t number;
	const char *text;

	if (!json_member(root, "id", &id))
		return err_set(e, ERR_USAGE,
			       "a request has an id; notifications are not known");
	if (json_type(&id) == JSON_NUMBER) {
		if (json_uint(&id, &number, e) < 0)
			return -1;
		free(*ret);
		*ret = text_format("%llu", (unsigned long long)number);
		return 0;
	}
	if (json_string(&id, &text, e) < 0)
		return -1;
	if (strlen(text) > RPC_ID_MAX)
		return err_set(e, ERR_USAGE, "id: a text of more than %d bytes",
			       RPC_ID_MAX);
	free(*ret);
	*ret = json_write_quoted(text);
	return 0;
}

static int check_version(const struct json_at *root, struct err *e)
{
	struct json_at version;
	const char *text = "";

	if (json_member(root, "jsonrpc", &version) && json_string(&version, &text, e) < 0)
		return -1;
	return strcmp(text, "2.0")
		       ? err_set(e, ERR_USAGE, "jsonrpc: \"2.0\" was expected")
		       : 0;
}

static int get_method(const struct json_at *root, struct rpc_request *r, struct err *e)
{
	struct json_at method;

	if (!json_member(root, "method", &method))
		return err_set(e, ERR_USAGE, "method: missing");
	return json_string(&method, &r->method, e);
}

int rpc_decode(const char *line, size_t len, struct rpc_request *ret, struct err *e)
{
	struct json_at root;

	*ret = (struct rpc_request){ .id = text_copy("null") };
	ret->doc = json_parse(line, len, e);
	if (!ret->doc)
		return RPC_PARSE;
	json_root(ret->doc, "request", &root);
	if (json_expect(&root, JSON_OBJECT, e) < 0 || get_id(&root, &ret->id, e) < 0 ||
	    json_only(&root, keys, e) < 0 || check_version(&root, e) < 0 ||
	    get_method(&root, ret, e) < 0)
		return RPC_REQUEST;
	if (json_member(&root, "params", &ret->params) &&
	    json_expect(&ret->params, JSON_OBJECT, e) < 0)
		return RPC_PARAMS;
	return 0;
}

void rpc_done(struct rpc_request *r)
{
	json_free(r->doc);
	free(r->id);
	*r = (struct rpc_request){ 0 };
}

static void open_message(struct buffer *out)
{
	json_write_open(out, NULL, "{");
	json_write_text(out, "jsonrpc", "2.0");
}

void rpc_put_result(struct buffer *out, const char *id, const char *result)
{
	open_message(out);
	json_write_raw(out, "id", id);
	json_write_raw(out, "result", result);
	json_write_close(out, "}\n");
}

void rpc_open_notification(struct buffer *out, const char *method)
{
	open_message(out);
	json_write_text(out, "method", method);
}

void rpc_put_notification(struct buffer *out, const char *method, const char *params)
{
	rpc_open_notification(out, method);
	json_write_raw(out, "params", params);
	json_write_close(out, "}\n");
}

const char *rpc_kind(const struct err *e)
{
	if (e->sys == ENOSPC || e->sys == EDQUOT)
		return "no_space"; /* a full disk has the kind ERR_LIMIT, which stands
				    * for other limits too */
	if (e->sys == ETIMEDOUT)
		return "timeout"; /* a time-out can have any kind */
	switch ((enum err_kind)e->kind) {
	case ERR_USAGE:
		return "invalid";
	case ERR_NOT_FOUND:
		return "not_found";
	case ERR_EXISTS:
		return "exists";
	case ERR_BUSY:
		return "busy";
	case ERR_REFUSED:
		return "refused";
	case ERR_UNSUPPORTED:
		return "unsupported";
	case ERR_LIMIT:
		return "limit";
	case ERR_GONE:
		return "disconnected";
	case ERR_NONE:
	case ERR_PROTOCOL:
	case ERR_SYSTEM:
	case ERR_INTERNAL:
	case ERR_KIND_COUNT:
		break;
	}
	return "internal";
}

static void put_error(struct buffer *out, const char *id, enum rpc_code code,
		      const struct err *e)
{
	open_message(out);
	json_write_raw(out, "id", id);
	json_write_open(out, "error", "{");
	json_write_number(out, "code", code);
	json_write_bytes(out, "message", e->text, strlen(e->text));
	json_write_open(out, "data", "{");
	json_write_text(out, "kind", rpc_kind(e));
	if (e->remedy[0])
		json_write_bytes(out, "remedy", e->remedy, strlen(e->remedy));
	else
		json_write_raw(out, "remedy", "null");
}

void rpc_put_error(struct buffer *out, const char *id, enum rpc_code code,
		   const struct err *e)
{
	put_error(out, id, code, e);
	json_write_close(out, "}}}\n");
}

void rpc_put_not_started(struct buffer *out, const char *id, int exit_code,
			 const struct err *e)
{
	put_error(out, id, RPC_FAILED, e);
	json_write_number(out, "exit_code", exit_code);
	json_write_close(out, "}}}\n");
}
