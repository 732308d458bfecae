/* remove -- hutch_rm() runs the program `hutch rm`, which can tidy up after a
 * supervisor that has ended. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/common/json_view.h"
#include "lib/error.h"
#include "lib/helper.h"
#include "sandbox/state/registry.h"

#define SAID_MAX 4096

/* Finds the line with hutch's error in the output (--log-format json); returns NULL
 * if there is none. */
static char *find_error(char *said)
{
	while (said && *said != '{') {
		said = strchr(said, '\n');
		said = said ? said + 1 : NULL;
	}
	return said;
}

/* Fills in `e` with the message, kind and remedy of the error that `hutch rm` has
 * written. */
static int repeat(char *line, const char *name, struct hutch_error *e)
{
	const size_t len = line ? strcspn(line, "\n") : 0;
	struct json_view said;

	if (!line || json_view_scan(&said, line, len, NULL) < 0)
		return error_set(e, HUTCH_SYSTEM,
				 "hutch rm %s failed, and did not say why", name);
	return error_entry(e, said);
}

int hutch_rm(const char *name, unsigned flags, const struct hutch_how *how,
	     struct hutch_error *e)
{
	char program[] = "hutch", format[] = "--log-format=json", verb[] = "rm",
	     force[] = "-f", end[] = "--", said[SAID_MAX];
	char copy[REGISTRY_NAME_MAX + 1];

	if (!name || !registry_is_name(name))
		return error_name(e, name);
	memcpy(copy, name, strlen(name) + 1); /* the name fits: registry_is_name() has
					       * checked its length */
	char *forced[] = { program, format, verb, force, end, copy, NULL };
	char *gentle[] = { program, format, verb, end, copy, NULL };
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
	/* If the host program has reaped the helper, its exit status is unknown, and
	 * its output decides. */
	char *line = find_error(said);
	if (x.status == 0 || (x.status == -1 && !line))
		return 0;
	return repeat(line, name, e);
}
