/* landlock_run -- `--isolation landlock`: one command, on a host that refuses user namespaces.
 *
 *	launcher			subreaper (subreaper.h)	command (landlock_exec.h)
 *	become the user
 *	open what is granted (landlock_rules.h)
 *	make the private folder
 *	fork -------------------------> a session, a domain
 *	watch, pump			fork ----------------> a session, the grants,
 *					wait			limits, filters, execve
 *	<------------------------------ all have ended
 *	deliver the rest of the output
 *	close the line ---------------> remove the folder
 *
 * Nothing is mounted and no id is mapped: the command runs as the user, on the
 * host's paths, beside the user's other processes.  docs/threat-model.md says which
 * promises hold here.  isolation_check() has refused every option that needs a
 * namespace or a cgroup. */
#pragma once
#include <stdbool.h>

struct policy;
struct result;

/* Runs the command of a policy that was checked, until it has ended.  To be called
 * after launch_ready().  If called as root, this process is an ordinary user
 * afterwards. */
void landlock_run_run(const struct policy *policy, bool is_dry_run, struct result *ret);

/* Tries for hutch doctor whether `--isolation landlock` works: does the same as
 * landlock_run_run(), but makes no private folder.  The policy names a working
 * directory. */
void landlock_run_try(const struct policy *policy, struct result *ret);

/* The text that says how `--isolation landlock` is weaker than namespaces, for a
 * user that asked for it and for a user that could ask for it. */
extern const char landlock_run_loses[];
