#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "oci/fields.h"
#include "oci/resources_limit.h"
#include "policy/json/json.h"

int resources_read_memory_v1(const struct json_at *at, struct resources *r, struct err *e)
{
	int64_t tcp = 0, swappiness = 0;
	bool no_oom = false;
	struct json_at member;

	if (fields_int(at, "kernelTCP", &tcp, e) ||
	    fields_int(at, "swappiness", &swappiness, e) ||
	    fields_bool(at, "disableOOMKiller", &no_oom, e))
		return -1;
	if (tcp > 0)
		resources_add(r, (struct resources_limit){
					 .v1 = "memory/memory.kmem.tcp.limit_in_bytes",
					 .v1_text = text_format("%" PRId64, tcp),
					 .member = "linux.resources.memory.kernelTCP" });
	if (json_member(at, "swappiness", &member))
		resources_add(r, (struct resources_limit){
					 .v1 = "memory/memory.swappiness",
					 .v1_text = text_format("%" PRId64, swappiness),
					 .member = "linux.resources.memory.swappiness" });
	if (no_oom)
		resources_add(
			r, (struct resources_limit){
				   .v1 = "memory/memory.oom_control",
				   .v1_text = text_copy("1"),
				   .member = "linux.resources.memory.disableOOMKiller" });
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
