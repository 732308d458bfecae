#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "oci/fields.h"
#include "oci/resources_limit.h"
#include "policy/json/json.h"

static char *limit_or_max(int64_t value)
{
	return value < 0 ? text_copy("max") : text_format("%" PRId64, value);
}

static void add(struct resources *r, const char *file, int64_t value, const char *member)
{
	resources_add(r,
		      (struct resources_limit){ .v1 = file,
						.v1_text = text_format("%" PRId64, value),
						.member = member,
						.is_no_limit = value < 0 });
}

int resources_read_memory_v1(const struct json_at *at, struct resources *r, struct err *e)
{
	int64_t kernel = 0, tcp = 0, swappiness = 0;
	bool no_oom = false;
	struct json_at member;

	if (fields_int(at, "kernel", &kernel, e) ||
	    fields_int(at, "kernelTCP", &tcp, e) ||
	    fields_int(at, "swappiness", &swappiness, e) ||
	    fields_bool(at, "disableOOMKiller", &no_oom, e))
		return -1;
	if (kernel)
		add(r, RESOURCES_KERNEL_MEMORY, kernel, "linux.resources.memory.kernel");
	if (tcp > 0)
		add(r, "memory/memory.kmem.tcp.limit_in_bytes", tcp,
		    "linux.resources.memory.kernelTCP");
	if (json_member(at, "swappiness", &member))
		add(r, "memory/memory.swappiness", swappiness,
		    "linux.resources.memory.swappiness");
	if (no_oom)
		add(r, "memory/memory.oom_control", 1,
		    "linux.resources.memory.disableOOMKiller");
	return 0;
}

int resources_read_cpu_v1(const struct json_at *at, struct resources *r, struct err *e)
{
	int64_t period = 0, runtime = 0;

	if (fields_int(at, "realtimePeriod", &period, e) ||
	    fields_int(at, "realtimeRuntime", &runtime, e))
		return -1;
	if (period)
		add(r, "cpu/cpu.rt_period_us", period,
		    "linux.resources.cpu.realtimePeriod");
	if (runtime)
		add(r, "cpu/cpu.rt_runtime_us", runtime,
		    "linux.resources.cpu.realtimeRuntime");
	return 0;
}

/* 10..1000 of v1 become 1..10000. */
static int64_t io_weight(int64_t weight)
{
	return 1 + (weight < 10 ? 0 : weight - 10) * 9999 / 990;
}

/* Reads the weights of one block device, a line "MAJOR:MINOR WEIGHT" of the files. */
static int read_device_weights(const struct json_at *at, struct resources *r,
			       struct err *e)
{
	int64_t major = 0, minor = 0, weight = 0, leaf = 0;

	if (fields_int(at, "major", &major, e) || fields_int(at, "minor", &minor, e) ||
	    fields_int(at, "weight", &weight, e) ||
	    fields_int(at, "leafWeight", &leaf, e))
		return -1;
	AUTO_FREE char *device = text_format("%" PRId64 ":%" PRId64, major, minor);
	if (weight > 0)
		resources_add(
			r, (struct resources_limit){
				   .file = "io.weight",
				   .text = text_format("%s %" PRId64, device,
						       io_weight(weight)),
				   .v1 = "blkio/blkio.weight_device",
				   .v1_text = text_format("%s %" PRId64, device, weight),
				   .member = at->place });
	if (leaf > 0)
		resources_add(r,
			      (struct resources_limit){
				      .v1 = "blkio/blkio.leaf_weight_device",
				      .v1_text = text_format("%s %" PRId64, device, leaf),
				      .member = at->place });
	return 0;
}

int resources_read_weights(const struct json_at *at, struct resources *r, struct err *e)
{
	struct json_at array, item = { 0 };
	int64_t weight = 0, leaf = 0;

	if (fields_int(at, "weight", &weight, e) ||
	    fields_int(at, "leafWeight", &leaf, e))
		return -1;
	if (weight > 0)
		resources_add(r,
			      (struct resources_limit){
				      .file = "io.weight",
				      .text = text_format("%" PRId64, io_weight(weight)),
				      .v1 = "blkio/blkio.weight",
				      .v1_text = text_format("%" PRId64, weight),
				      .member = "linux.resources.blockIO.weight" });
	if (leaf > 0)
		add(r, "blkio/blkio.leaf_weight", leaf,
		    "linux.resources.blockIO.leafWeight");
	if (!json_member(at, "weightDevice", &array))
		return 0;
	if (json_expect(&array, JSON_ARRAY, e))
		return -1;
	while (json_step(&array, &item))
		if (read_device_weights(&item, r, e))
			return -1;
	return 0;
}

int resources_read_rdma(const struct json_at *at, struct resources *r, struct err *e)
{
	struct json_at item = { 0 };
	const char *device;

	while (json_step_key(at, &item, &device)) {
		int64_t handles = -1, objects = -1;
		if (json_expect(&item, JSON_OBJECT, e) ||
		    fields_int(&item, "hcaHandles", &handles, e) ||
		    fields_int(&item, "hcaObjects", &objects, e))
			return -1;
		if (!*device || strpbrk(device, " \t\n"))
			return err_set(e, ERR_USAGE,
				       "%s: the name of a device was expected",
				       item.place);
		AUTO_FREE char *most = limit_or_max(handles);
		AUTO_FREE char *more = limit_or_max(objects);
		resources_add(r, (struct resources_limit){
					 .file = "rdma.max",
					 .text = text_format("%s hca_handle=%s "
							     "hca_object=%s",
							     device, most, more),
					 .v1 = "rdma/rdma.max",
					 .member = item.place });
	}
	return 0;
}

/* Reads the priority of one of the host's interfaces, a line "NAME PRIORITY" of the file. */
static int read_priority(const struct json_at *at, struct resources *r, struct err *e)
{
	const char *name = NULL;
	int64_t priority = 0;

	if (fields_text(at, "name", &name, e) || fields_int(at, "priority", &priority, e))
		return -1;
	if (!name || !*name || strpbrk(name, " \t\n") || priority < 0 ||
	    priority > UINT32_MAX)
		return err_set(e, ERR_USAGE,
			       "%s: the name of an interface and a priority of 32 bits "
			       "were expected",
			       at->place);
	resources_add(r, (struct resources_limit){
				 .v1 = "net_prio/net_prio.ifpriomap",
				 .v1_text = text_format("%s %" PRId64, name, priority),
				 .member = at->place });
	return 0;
}

int resources_read_network(const struct json_at *at, struct resources *r, struct err *e)
{
	struct json_at array, item = { 0 };
	int64_t id = 0;

	if (fields_int(at, "classID", &id, e))
		return -1;
	if (id < 0 || id > UINT32_MAX)
		return err_set(e, ERR_USAGE, "%s.classID: a number of 32 bits",
			       at->place);
	if (id)
		resources_add(r, (struct resources_limit){
					 .v1 = "net_cls/net_cls.classid",
					 .v1_text = text_format("%" PRId64, id),
					 .member = "linux.resources.network.classID" });
	if (!json_member(at, "priorities", &array))
		return 0;
	if (json_expect(&array, JSON_ARRAY, e))
		return -1;
	while (json_step(&array, &item))
		if (read_priority(&item, r, e))
			return -1;
	return 0;
}
