/* The method `update`: changes the limits of a running sandbox. */
#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/policy.h"
#include "policy/units.h"
#include "sandbox/cgroup/cgroup.h"
#include "sandbox/launch/launch.h"
#include "supervisor/methods.h"
#include "supervisor/records.h"
#include "supervisor/request.h"
#include "supervisor/supervisor.h"

/* Reads a whole number from `min` to `max`; if the param is absent *ret stays as it
 * is. */
static int take_number(const struct request *call, const char *key, uint64_t min,
		       uint64_t max, uint64_t *ret)
{
	struct json_at at;

	if (!json_member(&call->request->params, key, &at))
		return 0;
	if (request_uint(call, key, max, ret) < 0)
		return -1;
	return *ret >= min ? 0
			   : err_set(call->e, ERR_USAGE, "params.%s: less than %llu", key,
				     (unsigned long long)min);
}

static int take_cpus(const struct request *call, uint32_t *ret)
{
	struct json_at at;
	double cpus;

	if (!json_member(&call->request->params, "cpus", &at))
		return 0;
	if (json_number(&at, &cpus, call->e) < 0)
		return -1;
	if (!(cpus * 1000 >= UNITS_CPUS_MIN && cpus * 1000 <= UNITS_CPUS_MAX))
		return err_set(call->e, ERR_USAGE,
			       "params.cpus: from 0.01 to 1000 was expected");
	*ret = (uint32_t)(cpus * 1000 + 0.5);
	return 0;
}

/* Reads the limits to change.  0 stands for a limit that is not to change. */
static int take_limits(const struct request *call, struct limits *ret)
{
	if (take_number(call, "memory", UNITS_MEMORY_MIN, UNITS_MEMORY_MAX,
			&ret->memory) < 0 ||
	    take_number(call, "pids", 1, UNITS_PIDS_MAX, &ret->pids) < 0 ||
	    take_number(call, "disk", 1, UNITS_MEMORY_MAX, &ret->disk) < 0)
		return -1;
	if (take_cpus(call, &ret->cpus) < 0)
		return -1;
	if (ret->memory || ret->pids || ret->cpus || ret->disk)
		return 0;
	return err_set(call->e, ERR_USAGE, "params: memory, cpus or pids was expected");
}

/* Checks that the sandbox has a cgroup.  Without one there are at most limits for each
 * process, and none for the whole sandbox. */
static int check_can(const struct supervisor *s, const struct limits *asked,
		     struct err *e)
{
	if (asked->disk) {
		(void)err_set(e, ERR_UNSUPPORTED,
			      "--disk is the size of folders that were "
			      "mounted when the sandbox was made, and "
			      "cannot be changed");
		return err_remedy(
			e, "make another sandbox with it; hutch cp takes files there");
	}
	if (s->is_stopping)
		return err_set(e, ERR_BUSY, "the sandbox is stopping");
	if (s->launch->cgroup.procs >= 0)
		return 0;
	if (policy_wants_cgroup(s->launch->policy)) {
		(void)err_set(e, ERR_UNSUPPORTED,
			      "the limits of this sandbox are those of "
			      "--best-effort, without a cgroup, and cannot be "
			      "changed");
		return err_remedy(
			e, "hutch doctor says what a cgroup takes; make another sandbox "
			   "then");
	}
	(void)err_set(e, ERR_UNSUPPORTED, "this sandbox was made without a limit, and so "
					  "without a cgroup that could have one");
	return err_remedy(
		e, "make another sandbox with --memory, --cpus or --pids-limit; with "
		   "one of them any can be changed later");
}

static void become(struct limits *l, const struct limits *asked)
{
	l->memory = asked->memory ? asked->memory : l->memory;
	l->pids = asked->pids ? asked->pids : l->pids;
	l->cpus = asked->cpus ? asked->cpus : l->cpus;
}

static void tell(struct supervisor *s, const char *limits)
{
	AUTO_FREE char *more = text_format("\"limits\":%s", limits);
	AUTO_FREE char *info = supervisor_info(s);

	/* A failure is ignored: clients read the info in the registry only after the
	 * sandbox's end; until then they ask the supervisor. */
	(void)registry_set_info(s->entry, info, NULL);
	supervisor_event(s, "update", more);
}

int methods_update(const struct request *call)
{
	struct supervisor *s = call->s;
	struct limits asked = { 0 }, now = s->limits;

	if (take_limits(call, &asked) < 0)
		return RPC_PARAMS;
	become(&now, &asked);
	if (check_can(s, &asked, call->e) < 0 ||
	    records_update(s, call->client, &asked, call->e) < 0 ||
	    cgroup_update(&s->launch->cgroup, &s->limits, &now, call->e) < 0)
		return RPC_FAILED;
	s->limits = now;
	s->dispatcher.memory_limit = now.memory;
	AUTO_FREE char *limits = supervisor_limits(s);
	tell(s, limits);
	return request_answer(call, limits);
}
