/* rung -- `--isolation landlock`: one command, on a host that refuses user namespaces.
 *
 *	launcher			keeper (keeper.h)	command (begin.h)
 *	become the user
 *	open what is granted (grants.h)
 *	make the private folder
 *	fork -------------------------> a session, a domain
 *	watch, pump			fork ----------------> a session, the grants,
 *					wait			limits, filters, execve
 *	<------------------------------ all have ended
 *	deliver what was written
 *	close the line ---------------> remove the folder
 *
 * Nothing is mounted and no id is mapped: the command is the user, on the host's paths,
 * beside the user's other processes.  docs/threat-model.md has what it keeps of each
 * promise.  Whatever needs a namespace or a cgroup, isolation_check() has refused. */
#pragma once
#include <stdbool.h>

struct policy;
struct result;

/* From a checked policy to the end of its command, after launch_ready().  As root it leaves
 * this process an ordinary user. */
void rung_run(const struct policy *policy, bool is_dry_run, struct result *ret);

/* The same without a private folder, so that nothing is made: for hutch doctor.  The policy
 * names a working directory. */
void rung_try(const struct policy *policy, struct result *ret);

/* What is weaker here, for whoever has asked for it and for whoever could. */
extern const char rung_loses[];
