/* hutch-supervise makes a named sandbox, and its child is then the supervisor.  `hutch fork`
 * and `hutch start` execute it with the argv[0] hutch-fork and hutch-start, and hutch-pool
 * with hutch-supervise.  `hutch create` calls create_verb() itself, which saves the exec. */
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/io.h"
#include "cli/common/report.h"
#include "sandbox/launch/result.h"
#include "supervisor/create.h"

int main(int argc, char **argv)
{
	const char *me = argc > 0 ? argv[0] : "";
	const enum verb verb = !strcmp(me, "hutch-fork")    ? VERB_FORK
			       : !strcmp(me, "hutch-start") ? VERB_START
							    : VERB_CREATE;
	struct err e;

	if (io_fill_standard() < 0)
		return EXIT_HUTCH;
	report_begin();
	if (arena_open(&e) < 0)
		return report_end(-1, &e);
	return report_exit(create_verb(verb, argv + 1));
}
