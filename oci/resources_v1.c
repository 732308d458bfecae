#include <inttypes.h>

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
