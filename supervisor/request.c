#include "supervisor/request.h"

#include "base/err.h"
#include "base/list.h"
#include "supervisor/supervisor.h"

char *request_take_id(const struct request *call)
{
	char *id = call->request->id;

	call->request->id = text_copy("null");
	return id;
}

int request_answer(const struct request *call, const char *result)
{
	client_result(call->client, call->request->id, result);
	return 0;
}

int request_busy(const struct request *call)
{
	if (!call->s->is_stopping && !pause_is(call->s))
		return 0;
	return err_set(call->e, ERR_BUSY, "the sandbox is %s",
		       call->s->is_stopping ? "stopping" : "paused");
}

int request_gone(const struct request *call)
{
	(void)err_set(call->e, ERR_GONE, "the sandbox has ended");
	return RPC_FAILED;
}

int request_text(const struct request *call, const char *key, const char **ret)
{
	struct json_at at;

	if (!json_member(&call->request->params, key, &at))
		return 0;
	return json_string(&at, ret, call->e);
}

int request_bool(const struct request *call, const char *key, bool *ret)
{
	struct json_at at;

	return json_member(&call->request->params, key, &at)
		       ? json_bool(&at, ret, call->e)
		       : 0;
}

int request_uint(const struct request *call, const char *key, uint64_t max, uint64_t *ret)
{
	struct json_at at;

	if (!json_member(&call->request->params, key, &at))
		return 0;
	if (json_uint(&at, ret, call->e) < 0)
		return -1;
	if (*ret > max)
		return err_set(call->e, ERR_USAGE, "params.%s: more than %llu", key,
			       (unsigned long long)max);
	return 0;
}

int request_seconds(const struct request *call, const char *key, uint64_t *ret_ms)
{
	struct json_at at;
	double seconds = 0;

	*ret_ms = 0;
	if (!json_member(&call->request->params, key, &at))
		return 0;
	if (json_number(&at, &seconds, call->e) < 0)
		return -1;
	if (!(seconds >= 0 && seconds <= 1e6))
		return err_set(call->e, ERR_USAGE,
			       "params.%s: seconds from 0 to 1000000 were "
			       "expected",
			       key);
	*ret_ms = seconds * 1000 < 1 ? 1 : (uint64_t)(seconds * 1000);
	return 0;
}

int request_process(const struct request *call, struct job **ret)
{
	struct json_at at;
	uint64_t id;

	if (!json_member(&call->request->params, "process", &at)) {
		(void)err_set(call->e, ERR_USAGE, "params.process: missing");
		return RPC_PARAMS;
	}
	if (json_uint(&at, &id, call->e) < 0)
		return RPC_PARAMS;
	*ret = id <= UINT32_MAX ? jobs_find(&call->s->jobs, (uint32_t)id) : NULL;
	/* A client knows the process only when its start was answered; until then the
	 * start may fail. */
	if (*ret && ((*ret)->state == JOB_RUNNING || (*ret)->state == JOB_ENDED))
		return 0;
	(void)err_set(call->e, ERR_NOT_FOUND, "no process %llu", (unsigned long long)id);
	return RPC_FAILED;
}
