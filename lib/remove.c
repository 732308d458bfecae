/* hutch_rm(): by the program, which tidies up what no supervisor is left for. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "lib/fault.h"
#include "lib/helper.h"
#include "sandbox/registry.h"

#define SAID_MAX 4096

/* "hutch: SENTENCE", and maybe "hutch: hint: SENTENCE". */
static int repeat(char *said, const char *name, struct hutch_error *e)
{
	static const char first[] = "hutch: ", second[] = "hutch: hint: ";
	char *hint = strstr(said, second);

	said[strcspn(said, "\n")] = '\0';
	if (strncmp(said, first, strlen(first)) != 0)
		return fault(e, HUTCH_SYSTEM, "hutch rm %s failed, and did not say why",
			     name);
	(void)fault(e, HUTCH_SYSTEM, "%s", said + strlen(first));
	if (!hint)
		return -1;
	hint += strlen(second);
	hint[strcspn(hint, "\n")] = '\0';
	return fault_remedy(e, "%s", hint);
}

int hutch_rm(const char *name, unsigned flags, const struct hutch_how *how,
	     struct hutch_error *e)
{
	char program[] = "hutch", verb[] = "rm", force[] = "-f", end[] = "--",
	     said[SAID_MAX];
	char copy[REGISTRY_NAME_MAX + 1];

	if (!name || !registry_is_name(name))
		return fault_name(e, name);
	memcpy(copy, name, strlen(name) + 1); /* it was checked */
	char *forced[] = { program, verb, force, end, copy, NULL };
	char *gentle[] = { program, verb, end, copy, NULL };
	struct helper x;
	const struct helper_plan plan = {
		.program = how && how->program ? how->program : "hutch",
		.argv = flags & HUTCH_FORCE ? forced : gentle,
		.says_as = 2,
		.notes = -1,
	};
	int fd;

	helper_init(&x);
	if (helper_start(&x, &plan, e) < 0)
		return -1;
	(void)helper_finish(&x, said, sizeof(said), &fd);
	/* Where somebody else has its status, what it said has to do. */
	if (x.status == 0 || (x.status == -1 && !strstr(said, "hutch: ")))
		return 0;
	return repeat(said, name, e);
}
