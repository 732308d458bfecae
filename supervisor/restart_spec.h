/* restart_spec -- prepares a sandbox's options to be kept, and takes them up at
 * another start (sandbox/state/saved_spec.h).
 *
 * Variables are kept with their values, wherever these came from, except
 * secrets: only the names of those are kept, and the user that starts the
 * sandbox gives them anew. */
#pragma once

struct err;
struct policy;
struct run_options;
struct policy_file;

/* Turns `said`, the settings of options and policies, into those to be kept.
 * ERR_REFUSED: a secret's value is part of another setting.  ERR_UNSUPPORTED,
 * ERR_LIMIT: the settings could not be read back as they are. */
int restart_spec_describe(const struct policy *p, struct policy_file *said,
			  struct err *e);

/* Returns the content of --seccomp's file, which the inside may be able to write to;
 * allocated.  NULL: there is none, or it cannot be read, which the launch will report. */
char *restart_spec_profile(const struct policy *p);

/* Fills in the policy in `o` from the kept settings of `name`; values that
 * options have set stay.  A secret without an option takes the caller's
 * variable; ERR_USAGE names those that have neither.  ERR_REFUSED: the settings
 * are not as restart_spec_describe() makes them. */
int restart_spec_apply(struct run_options *o, const char *name, struct policy_file *kept,
		       struct err *e);

/* Returns, as lines, where each shown path of the host leads now, without
 * links, and the same for the folders of published unix sockets; allocated. */
char *restart_spec_places(struct policy *p);

/* Checks that all shown paths lead to the places in `kept`.  ERR_REFUSED: a path leads
 * elsewhere.  The inside may have put a link in the place of a folder that was shown
 * twice, and would be shown the link's target.  From then on the policy has the paths
 * without links, and no link in them is followed. */
int restart_spec_hold_places(struct policy *p, char *kept, struct err *e);
