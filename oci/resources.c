#include "oci/resources.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "oci/fields.h"
#include "oci/log.h"
#include "oci/resources_limit.h"
#include "policy/json/json.h"

const struct resources_device resources_always[RESOURCES_ALWAYS] = {
	{ true, 'c', -1, -1, false, false, true },
	{ true, 'b', -1, -1, false, false, true },
	{ true, 'c', 1, 3, true, true, true },
	{ true, 'c', 1, 5, true, true, true },
	{ true, 'c', 1, 7, true, true, true },
	{ true, 'c', 1, 8, true, true, true },
	{ true, 'c', 1, 9, true, true, true },
	{ true, 'c', 5, 0, true, true, true },
	{ true, 'c', 5, 1, true, true, true },
	{ true, 'c', 5, 2, true, true, true },
	{ true, 'c', 136, -1, true, true, true },
};

void resources_add(struct resources *r, struct resources_limit l)
{
	if (r->count == r->room) {
		r->room = r->room ? 2 * r->room : 16;
		r->writes = mem_resize(r->writes, r->room, sizeof(*r->writes));
	}
	r->writes[r->count++] = (struct resources_write){
		.file = l.file ? text_copy(l.file) : NULL,
		.text = l.text,
		.v1 = l.v1 ? text_copy(l.v1) : NULL,
		.v1_text = l.v1 && !l.v1_text ? text_copy(l.text) : l.v1_text,
		.member = text_copy(l.member),
		.is_no_limit = l.is_no_limit,
	};
}

static char *number(int64_t value)
{
	return text_format("%" PRId64, value);
}

/* Reads a member that is a limit: -1, and where `zero_is_none` 0, too, is no limit. */
static int read_limit(const struct json_at *at, const char *key, bool *ret_has,
		      int64_t *ret, struct err *e)
{
	struct json_at member;

	*ret_has = json_member(at, key, &member);
	return *ret_has ? fields_int(at, key, ret, e) : 0;
}

static char *limit_text(int64_t value)
{
	return value < 0 ? text_copy("max") : text_format("%" PRId64, value);
}

/* All cgroups are hierarchical in v2, and in v1 since kernel 5.11. */
static int check_hierarchy(const struct json_at *at, struct err *e)
{
	bool is_wanted = true;
	struct err why;

	if (fields_bool(at, "useHierarchy", &is_wanted, e))
		return -1;
	if (is_wanted)
		return 0;
	(void)err_set(
		&why, ERR_UNSUPPORTED,
		"%s.useHierarchy: false is passed over, since the kernel always counts "
		"the memory of cgroups below, too",
		at->place);
	log_warning(&why);
	return 0;
}

static int read_memory(const struct json_at *at, struct resources *r, struct err *e)
{
	int64_t limit = 0, swap = 0, low = 0;
	bool has_limit, has_swap, has_low, is_checked = false;

	if (fields_bool(at, "checkBeforeUpdate", &is_checked, e) ||
	    check_hierarchy(at, e) || read_limit(at, "limit", &has_limit, &limit, e) ||
	    read_limit(at, "swap", &has_swap, &swap, e) ||
	    read_limit(at, "reservation", &has_low, &low, e))
		return -1;
	/* v1's limit of swap is that of memory and swap together. */
	if (has_swap && swap > 0 && (!has_limit || limit <= 0 || swap < limit))
		return err_set(e, ERR_USAGE,
			       "%s.swap: it counts memory, too, and must not "
			       "be below memory.limit",
			       at->place);
	r->checked_memory = is_checked && limit > 0 ? (uint64_t)limit : 0;
	r->checked_swap = is_checked && swap > 0 ? (uint64_t)swap : 0;
	/* v1 wants the limit of memory first. */
	if (has_limit && limit)
		resources_add(r, (struct resources_limit){
					 "memory.max", limit_text(limit),
					 "memory/memory.limit_in_bytes", number(limit),
					 "linux.resources.memory.limit", limit < 0 });
	if (has_swap && swap)
		resources_add(r,
			      (struct resources_limit){
				      "memory.swap.max",
				      limit_text(swap < 0 ? -1 : swap - limit),
				      "memory/memory.memsw.limit_in_bytes", number(swap),
				      "linux.resources.memory.swap", swap < 0 });
	if (has_low && low)
		resources_add(r, (struct resources_limit){
					 "memory.low", limit_text(low),
					 "memory/memory.soft_limit_in_bytes", number(low),
					 "linux.resources.memory.reservation", low < 0 });
	return resources_read_memory_v1(at, r, e);
}

/* v1 has a file each for the period and the quota. */
static void add_quota(struct resources *r, int64_t quota, uint64_t period)
{
	char *text = quota > 0 ? text_format("%" PRId64 " %" PRIu64, quota, period)
			       : text_format("max %" PRIu64, period);

	resources_add(
		r, (struct resources_limit){ "cpu.max", text, "cpu/cpu.cfs_period_us",
					     text_format("%" PRIu64, period),
					     "linux.resources.cpu.period", quota <= 0 });
	resources_add(r,
		      (struct resources_limit){ .v1 = "cpu/cpu.cfs_quota_us",
						.v1_text = number(quota > 0 ? quota : -1),
						.member = "linux.resources.cpu.quota",
						.is_no_limit = quota <= 0 });
	r->writes[r->count - 1].is_part = true;
}

static int read_cpu(const struct json_at *at, struct resources *r, struct err *e)
{
	int64_t shares = 0, quota = 0, burst = 0, idle = 0;
	uint64_t period = 0;
	const char *cpus = NULL, *mems = NULL;

	if (fields_int(at, "shares", &shares, e) || fields_int(at, "quota", &quota, e) ||
	    fields_u64(at, "period", &period, e) || fields_int(at, "burst", &burst, e) ||
	    fields_int(at, "idle", &idle, e) || fields_text(at, "cpus", &cpus, e) ||
	    fields_text(at, "mems", &mems, e))
		return -1;
	/* 2..262144 of v1 become 1..10000, and v1's default 1024 is no demand. */
	if (shares > 0) {
		const int64_t n = shares < 2 ? 2 : shares > 262144 ? 262144 : shares;
		resources_add(r,
			      (struct resources_limit){
				      "cpu.weight", number(1 + (n - 2) * 9999 / 262142),
				      "cpu/cpu.shares", number(shares),
				      "linux.resources.cpu.shares", shares == 1024 });
	}
	if (quota || period)
		add_quota(r, quota, period ? period : 100000);
	if (burst > 0)
		resources_add(r, (struct resources_limit){ "cpu.max.burst", number(burst),
							   "cpu/cpu.cfs_burst_us", NULL,
							   "linux.resources.cpu.burst",
							   false });
	if (idle)
		resources_add(r, (struct resources_limit){
					 "cpu.idle", number(idle), "cpu/cpu.idle", NULL,
					 "linux.resources.cpu.idle", false });
	if (cpus && *cpus)
		resources_add(r, (struct resources_limit){ "cpuset.cpus", text_copy(cpus),
							   "cpuset/cpuset.cpus", NULL,
							   "linux.resources.cpu.cpus",
							   false });
	if (mems && *mems)
		resources_add(r, (struct resources_limit){ "cpuset.mems", text_copy(mems),
							   "cpuset/cpuset.mems", NULL,
							   "linux.resources.cpu.mems",
							   false });
	return resources_read_cpu_v1(at, r, e);
}

static int read_pids(const struct json_at *at, struct resources *r, struct err *e)
{
	int64_t limit = 0;
	bool has;

	if (read_limit(at, "limit", &has, &limit, e))
		return -1;
	if (has)
		resources_add(r, (struct resources_limit){
					 "pids.max", limit_text(limit > 0 ? limit : -1),
					 "pids/pids.max", NULL,
					 "linux.resources.pids.limit", limit <= 0 });
	return 0;
}

struct throttle {
	const char *key, *word, *v1;
};

static int read_throttle(const struct json_at *at, const struct throttle *t,
			 struct resources *r, struct err *e)
{
	struct json_at array, item = { 0 };

	if (!json_member(at, t->key, &array))
		return 0;
	if (json_expect(&array, JSON_ARRAY, e))
		return -1;
	while (json_step(&array, &item)) {
		int64_t major = 0, minor = 0;
		uint64_t rate = 0;
		if (fields_int(&item, "major", &major, e) ||
		    fields_int(&item, "minor", &minor, e) ||
		    fields_u64(&item, "rate", &rate, e))
			return -1;
		char *text = text_format("%" PRId64 ":%" PRId64 " %s=%" PRIu64, major,
					 minor, t->word, rate);
		char *v1 = text_format("%" PRId64 ":%" PRId64 " %" PRIu64, major, minor,
				       rate);
		resources_add(r, (struct resources_limit){ "io.max", text, t->v1, v1,
							   item.place, false });
	}
	return 0;
}

static int read_io(const struct json_at *at, struct resources *r, struct err *e)
{
	static const struct throttle throttles[] = {
		{ "throttleReadBpsDevice", "rbps",
		  "blkio/blkio.throttle.read_bps_device" },
		{ "throttleWriteBpsDevice", "wbps",
		  "blkio/blkio.throttle.write_bps_device" },
		{ "throttleReadIOPSDevice", "riops",
		  "blkio/blkio.throttle.read_iops_device" },
		{ "throttleWriteIOPSDevice", "wiops",
		  "blkio/blkio.throttle.write_iops_device" },
	};

	if (resources_read_weights(at, r, e))
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(throttles); i++)
		if (read_throttle(at, &throttles[i], r, e))
			return -1;
	return 0;
}

static int read_hugepages(const struct json_at *at, struct resources *r, struct err *e)
{
	struct json_at array, item = { 0 };

	if (!json_member(at, "hugepageLimits", &array))
		return 0;
	if (json_expect(&array, JSON_ARRAY, e))
		return -1;
	while (json_step(&array, &item)) {
		const char *size = NULL;
		uint64_t limit = 0;
		if (fields_text(&item, "pageSize", &size, e) ||
		    fields_u64(&item, "limit", &limit, e))
			return -1;
		if (!size || strchr(size, '/'))
			return err_set(e, ERR_USAGE, "%s.pageSize: such as 2MB",
				       item.place);
		AUTO_FREE char *file = text_format("hugetlb.%s.max", size);
		AUTO_FREE char *v1 =
			text_format("hugetlb/hugetlb.%s.limit_in_bytes", size);
		resources_add(r, (struct resources_limit){ file,
							   text_format("%" PRIu64, limit),
							   v1, NULL, item.place, false });
	}
	return 0;
}

/* The keys of `unified` are names of files of the cgroup; a "/" would leave it. */
static int read_unified(const struct json_at *at, struct resources *r, struct err *e)
{
	struct json_at object, item = { 0 };
	const char *key, *text;
	const int found = fields_object(at, "unified", &object, e);

	while (found > 0 && json_step_key(&object, &item, &key)) {
		if (json_string(&item, &text, e))
			return -1;
		if (strchr(key, '/') || !strchr(key, '.') || !strncmp(key, "cgroup.", 7))
			return err_set(e, ERR_USAGE,
				       "%s: the specified key has not the form "
				       "CONTROLLER.VALUE `%s`",
				       item.place, key);
		resources_add(r, (struct resources_limit){ .file = key,
							   .text = text_copy(text),
							   .member = item.place });
	}
	return found < 0 ? -1 : 0;
}

static int read_devices(const struct json_at *at, struct resources *r, struct err *e)
{
	struct json_at array, item = { 0 };
	const int64_t count =
		fields_array(at, "devices", &array, &r->devices, sizeof(*r->devices), e);

	if (count < 0)
		return -1;
	while ((int64_t)r->device_count < count && json_step(&array, &item)) {
		struct resources_device *d = &r->devices[r->device_count++];
		const char *type = "a", *access = "rwm";
		*d = (struct resources_device){ .major = -1, .minor = -1 };
		if (fields_bool(&item, "allow", &d->is_allowed, e) ||
		    fields_text(&item, "type", &type, e) ||
		    fields_text(&item, "access", &access, e) ||
		    fields_int(&item, "major", &d->major, e) ||
		    fields_int(&item, "minor", &d->minor, e))
			return -1;
		if (strlen(type) > 1 || !strchr("abcu", *type))
			return err_set(e, ERR_USAGE, "%s.type: a, b or c was expected",
				       item.place);
		d->type = *type == 'u' ? 'c' : *type ? *type : 'a';
		d->reads = strchr(access, 'r') != NULL;
		d->writes = strchr(access, 'w') != NULL;
		d->makes = strchr(access, 'm') != NULL;
	}
	return 0;
}

/* A member of the resources object that is an object itself. */
struct part {
	const char *key;
	int (*read)(const struct json_at *, struct resources *, struct err *);
	const char *controllers[2]; /* of v1; NULL: none */
};

/* An object without members asks for no limit, but for a cgroup of its own. */
static int read_part(const struct part *p, const struct json_at *at, struct resources *r,
		     struct err *e)
{
	struct json_at item = { 0 };
	const char *key;

	if (json_step_key(at, &item, &key))
		return p->read(at, r, e);
	for (size_t i = 0; i < ARRAY_LEN(p->controllers) && p->controllers[i]; i++) {
		resources_add(r, (struct resources_limit){ .v1 = p->controllers[i],
							   .v1_text = text_copy(""),
							   .member = at->place,
							   .is_no_limit = true });
		r->writes[r->count - 1].is_bare = true;
	}
	return 0;
}

int resources_read(const struct json_at *at, struct resources *ret, struct err *e)
{
	static const struct part parts[] = {
		{ "memory", read_memory, { "memory" } },
		{ "cpu", read_cpu, { "cpu", "cpuset" } },
		{ "pids", read_pids, { "pids" } },
		{ "blockIO", read_io, { "blkio" } },
		{ "network", resources_read_network, { "net_cls", "net_prio" } },
		{ "rdma", resources_read_rdma, { "rdma" } },
	};
	struct resources r = { 0 };
	struct json_at part;

	*ret = r;
	if (json_type(at) != JSON_OBJECT)
		return 0;
	int rc = read_devices(at, &r, e) || read_hugepages(at, &r, e);
	for (size_t i = 0; !rc && i < ARRAY_LEN(parts); i++) {
		const int found = fields_object(at, parts[i].key, &part, e);
		rc = found < 0 || (found && read_part(&parts[i], &part, &r, e));
	}
	rc = rc || read_unified(at, &r, e);
	if (rc) {
		resources_done(&r);
		return -1;
	}
	*ret = r;
	return 0;
}

void resources_done(struct resources *r)
{
	for (size_t i = 0; i < r->count; i++) {
		free(r->writes[i].file);
		free(r->writes[i].text);
		free(r->writes[i].v1);
		free(r->writes[i].v1_text);
		free(r->writes[i].member);
	}
	free(r->writes);
	free(r->devices);
	*r = (struct resources){ 0 };
}
