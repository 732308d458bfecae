#include "oci/process.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/err.h"
#include "base/own.h"
#include "oci/fields.h"
#include "oci/log.h"
#include "policy/json/json.h"
#include "sandbox/kernel/caps.h"

#define GROUPS_MAX 65536

struct word {
	const char *name;
	uint32_t value;
};

/* Finds a word; -1 with an error that names the place. */
static int find_word(const struct word *words, size_t count, const char *name,
		     const char *place, struct err *e)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(words[i].name, name))
			return (int)words[i].value;
	return err_set(e, ERR_USAGE, "%s: unknown word '%.64s'", place, name);
}

static const struct word resources[] = {
	{ "RLIMIT_AS", RLIMIT_AS },
	{ "RLIMIT_CORE", RLIMIT_CORE },
	{ "RLIMIT_CPU", RLIMIT_CPU },
	{ "RLIMIT_DATA", RLIMIT_DATA },
	{ "RLIMIT_FSIZE", RLIMIT_FSIZE },
	{ "RLIMIT_LOCKS", RLIMIT_LOCKS },
	{ "RLIMIT_MEMLOCK", RLIMIT_MEMLOCK },
	{ "RLIMIT_MSGQUEUE", RLIMIT_MSGQUEUE },
	{ "RLIMIT_NICE", RLIMIT_NICE },
	{ "RLIMIT_NOFILE", RLIMIT_NOFILE },
	{ "RLIMIT_NPROC", RLIMIT_NPROC },
	{ "RLIMIT_RSS", RLIMIT_RSS },
	{ "RLIMIT_RTPRIO", RLIMIT_RTPRIO },
	{ "RLIMIT_RTTIME", RLIMIT_RTTIME },
	{ "RLIMIT_SIGPENDING", RLIMIT_SIGPENDING },
	{ "RLIMIT_STACK", RLIMIT_STACK },
};

static const struct word policies[] = {
	{ "SCHED_OTHER", SCHED_OTHER },
	{ "SCHED_FIFO", SCHED_FIFO },
	{ "SCHED_RR", SCHED_RR },
	{ "SCHED_BATCH", SCHED_BATCH },
	{ "SCHED_ISO", 4 },
	{ "SCHED_IDLE", SCHED_IDLE },
	{ "SCHED_DEADLINE", 6 },
};

/* sched_setattr(2) */
static const struct word sched_flags[] = {
	{ "SCHED_FLAG_RESET_ON_FORK", 0x01 },  { "SCHED_FLAG_RECLAIM", 0x02 },
	{ "SCHED_FLAG_DL_OVERRUN", 0x04 },     { "SCHED_FLAG_KEEP_POLICY", 0x08 },
	{ "SCHED_FLAG_KEEP_PARAMS", 0x10 },    { "SCHED_FLAG_UTIL_CLAMP_MIN", 0x20 },
	{ "SCHED_FLAG_UTIL_CLAMP_MAX", 0x40 },
};

/* ioprio_set(2) */
static const struct word io_classes[] = {
	{ "IOPRIO_CLASS_RT", 1 },
	{ "IOPRIO_CLASS_BE", 2 },
	{ "IOPRIO_CLASS_IDLE", 3 },
};

static int read_rlimits(const struct json_at *at, struct process *p, struct err *e)
{
	struct json_at array, item = { 0 };
	const int64_t count =
		fields_array(at, "rlimits", &array, &p->rlimits, sizeof(*p->rlimits), e);

	if (count < 0)
		return -1;
	for (; (int64_t)p->rlimit_count < count && json_step(&array, &item);
	     p->rlimit_count++) {
		struct process_rlimit *limit = &p->rlimits[p->rlimit_count];
		const char *type = "";
		if (fields_text(&item, "type", &type, e) ||
		    fields_u64(&item, "soft", &limit->soft, e) ||
		    fields_u64(&item, "hard", &limit->hard, e))
			return -1;
		limit->resource =
			find_word(resources, ARRAY_LEN(resources), type, item.place, e);
		if (limit->resource < 0)
			return -1;
		for (size_t i = 0; i < p->rlimit_count; i++)
			if (p->rlimits[i].resource == limit->resource)
				return err_set(e, ERR_USAGE, "%s: %s stands there twice",
					       item.place, type);
	}
	return 0;
}

static int read_caps(const struct json_at *caps, const char *name, uint64_t *ret,
		     const char **ret_unknown, struct err *e)
{
	struct json_at array, item = { 0 };
	const char *text;

	if (!json_member(caps, name, &array))
		return 0;
	if (json_expect(&array, JSON_ARRAY, e))
		return -1;
	while (json_step(&array, &item)) {
		if (json_string(&item, &text, e))
			return -1;
		const int number = caps_parse(text, NULL);
		if (number >= 0)
			*ret |= 1ull << number;
		else
			*ret_unknown = text;
	}
	return 0;
}

static int read_all_caps(const struct json_at *at, struct process *p, struct err *e)
{
	static const char *const names[CAPS_COUNT] = { "bounding", "effective",
						       "inheritable", "permitted",
						       "ambient" };
	struct json_at caps;
	const int found = fields_object(at, "capabilities", &caps, e);

	p->has_caps = found > 0;
	for (int i = 0; found > 0 && i < CAPS_COUNT; i++)
		if (read_caps(&caps, names[i], &p->caps[i], &p->unknown_cap, e))
			return -1;
	return found < 0 ? -1 : 0;
}

static int read_user(const struct json_at *at, struct process *p, struct err *e)
{
	struct json_at user, array, item = { 0 };
	const int found = fields_object(at, "user", &user, e);

	if (found <= 0)
		return found;
	if (fields_u32(&user, "uid", &p->uid, e) ||
	    fields_u32(&user, "gid", &p->gid, e) ||
	    fields_u32(&user, "umask", &p->umask, e))
		return -1;
	const int64_t count = fields_array(&user, "additionalGids", &array, &p->groups,
					   sizeof(*p->groups), e);
	if (count < 0)
		return -1;
	while ((int64_t)p->group_count < count && json_step(&array, &item)) {
		uint64_t gid;
		if (json_uint(&item, &gid, e))
			return -1;
		if (gid >= UINT32_MAX)
			return err_set(e, ERR_USAGE, "%s: no group id", item.place);
		p->groups[p->group_count++] = (uint32_t)gid;
	}
	return 0;
}

static int read_scheduler(const struct json_at *at, struct process *p, struct err *e)
{
	struct json_at object, array, item = { 0 };
	const char *policy = "", *flag;
	int value;
	const int found = fields_object(at, "scheduler", &object, e);

	if (found <= 0)
		return found;
	p->has_scheduler = true;
	if (fields_text(&object, "policy", &policy, e) ||
	    fields_int(&object, "nice", &p->nice, e) ||
	    fields_int(&object, "priority", &p->priority, e) ||
	    fields_u64(&object, "runtime", &p->runtime, e) ||
	    fields_u64(&object, "deadline", &p->deadline, e) ||
	    fields_u64(&object, "period", &p->period, e))
		return -1;
	value = find_word(policies, ARRAY_LEN(policies), policy, object.place, e);
	if (value < 0)
		return -1;
	p->policy = (uint32_t)value;
	if (json_member(&object, "flags", &array))
		while (json_step(&array, &item)) {
			if (json_string(&item, &flag, e))
				return -1;
			value = find_word(sched_flags, ARRAY_LEN(sched_flags), flag,
					  item.place, e);
			if (value < 0)
				return -1;
			p->sched_flags |= (uint32_t)value;
		}
	return 0;
}

static int read_io_priority(const struct json_at *at, struct process *p, struct err *e)
{
	struct json_at object;
	const char *class = "";
	const int found = fields_object(at, "ioPriority", &object, e);

	if (found <= 0)
		return found;
	p->has_io_priority = true;
	if (fields_text(&object, "class", &class, e) ||
	    fields_u32(&object, "priority", &p->io_level, e))
		return -1;
	const int value =
		find_word(io_classes, ARRAY_LEN(io_classes), class, object.place, e);
	if (value < 0)
		return -1;
	if (p->io_level > 7)
		return err_set(e, ERR_USAGE,
			       "%s.priority: a number from 0 to 7 was expected",
			       object.place);
	p->io_class = (uint32_t)value;
	return 0;
}

static int read_rest(const struct json_at *at, struct process *p, struct err *e)
{
	struct json_at object;
	int found;

	if (json_member(at, "oomScoreAdj", &object))
		p->has_oom_score = true;
	if (fields_int(at, "oomScoreAdj", &p->oom_score, e) ||
	    fields_text(at, "apparmorProfile", &p->apparmor, e) ||
	    fields_text(at, "selinuxLabel", &p->selinux, e) ||
	    fields_bool(at, "noNewPrivileges", &p->no_new_privs, e) ||
	    fields_bool(at, "terminal", &p->has_terminal, e))
		return -1;
	found = fields_object(at, "consoleSize", &object, e);
	if (found < 0 || (found && (fields_u32(&object, "height", &p->rows, e) ||
				    fields_u32(&object, "width", &p->cols, e))))
		return -1;
	found = fields_object(at, "execCPUAffinity", &object, e);
	return found <= 0 ? found : fields_text(&object, "final", &p->cpus, e);
}

static int check(const struct json_at *at, const struct process *p, struct err *e)
{
	if (p->cwd[0] != '/')
		return err_set(e, ERR_USAGE, "%s.cwd: an absolute path was expected",
			       at->place);
	for (size_t i = 0; i < p->rlimit_count; i++)
		if (p->rlimits[i].soft > p->rlimits[i].hard)
			return err_set(e, ERR_USAGE,
				       "%s.rlimits[%zu]: soft is above hard", at->place,
				       i);
	return p->args.count ? 0
			     : err_set(e, ERR_USAGE, "%s.args: a command was expected",
				       at->place);
}

/* An engine may list a variable of the image, and then that of its user.  Programs differ about
 * which of the two counts, so the last one stands alone, as with other runtimes. */
static int read_env(const struct json_at *at, struct process *p, struct err *e)
{
	struct list all = { 0 };
	const int rc = fields_list(at, "env", &all, e);

	for (size_t i = 0; i < all.count; i++)
		if (strchr(all.items[i], '='))
			list_set_env(&p->env, all.items[i]);
		else
			list_add(&p->env, all.items[i]);
	list_done(&all);
	return rc;
}

int process_read(const struct json_at *at, struct process *ret, struct err *e)
{
	*ret = (struct process){ .cwd = "", .umask = UINT32_MAX };
	if (json_expect(at, JSON_OBJECT, e) || fields_list(at, "args", &ret->args, e) ||
	    read_env(at, ret, e) || fields_text(at, "cwd", &ret->cwd, e) ||
	    read_user(at, ret, e) || read_all_caps(at, ret, e) ||
	    read_rlimits(at, ret, e) || read_scheduler(at, ret, e) ||
	    read_io_priority(at, ret, e) || read_rest(at, ret, e) || check(at, ret, e))
		return -1;
	return 0;
}

void process_warn(const struct process *p)
{
	struct err e;

	if (!p->unknown_cap)
		return;
	(void)err_set(&e, ERR_UNSUPPORTED,
		      "process.capabilities: passed over, since unknown: '%.64s'",
		      p->unknown_cap);
	log_warning(&e);
}

void process_done(struct process *p)
{
	list_done(&p->args);
	list_done(&p->env);
	free(p->groups);
	free(p->rlimits);
	*p = (struct process){ 0 };
}
