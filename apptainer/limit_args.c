#include "apptainer/limit_args.h"

#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "docker/args.h"
#include "policy/units.h"
#include "sandbox/kernel/caps.h"

static int add(struct args *a, const char *flag, const char *value)
{
	list_add(&a->words, flag);
	list_add(&a->words, value);
	return 0;
}

int limit_args_memory(struct args *a, const char *value, struct err *e)
{
	uint64_t bytes;

	return units_parse_memory(value, &bytes, e) < 0 ? -1 : add(a, "--memory", value);
}

int limit_args_cpus(struct args *a, const char *value, struct err *e)
{
	uint32_t cpus;

	return units_parse_cpus(value, &cpus, e) < 0 ? err_in(e, "--cpus")
						     : add(a, "--cpus", value);
}

/* Apptainer takes -1 for no limit. */
int limit_args_pids(struct args *a, const char *value, struct err *e)
{
	uint64_t count;

	if (!strcmp(value, "-1"))
		return 0;
	return units_parse_pids(value, &count, e) < 0 ? -1
						      : add(a, "--pids-limit", value);
}

/* hutch knows ALL as what is taken away, and refuses to give it. */
static int add_caps(struct args *a, const char *flag, const char *value, struct err *e)
{
	AUTO_FREE char *copy = text_copy(value);
	char *rest = copy;

	for (char *one = strsep(&rest, ","); one; one = strsep(&rest, ",")) {
		if (strcasecmp(one, "ALL") != 0 && caps_parse(one, e) < 0)
			return -1;
		(void)add(a, flag, strncmp(one, "CAP_", 4) ? one : one + 4);
	}
	return 0;
}

int limit_args_add_caps(struct args *a, const char *value, struct err *e)
{
	if (!strcasecmp(value, "ALL") || !strcasecmp(value, "CAP_ALL"))
		return err_set(e, ERR_UNSUPPORTED,
			       "--add-caps %s: name the capabilities that are needed",
			       value);
	return add_caps(a, "--cap-add", value, e) < 0 ? err_in(e, "--add-caps") : 0;
}

int limit_args_drop_caps(struct args *a, const char *value, struct err *e)
{
	return add_caps(a, "--cap-drop", value, e) < 0 ? err_in(e, "--drop-caps") : 0;
}

int limit_args_no_privs(struct args *a, const char *value, struct err *e)
{
	(void)value;
	return limit_args_drop_caps(a, "ALL", e);
}
