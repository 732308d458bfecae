/* restart_spec -- converts a sandbox's options for a saved spec, and back for another
 * start (sandbox/state/saved_spec.h).
 *
 * Environment variables are saved with their values, wherever these came from.  Secrets
 * are saved without values, which the user must give again at each start. */
#pragma once

struct err;
struct list;
struct policy;
struct run_options;
struct policy_file;

/* Converts `said`, the settings of options and policies, into those to be saved.
 * ERR_REFUSED: a secret's value is part of another setting.  ERR_UNSUPPORTED,
 * ERR_LIMIT: the settings could not be read back unchanged. */
int restart_spec_describe(const struct policy *p, struct policy_file *said,
			  struct err *e);

/* Returns the words of the main process for a saved spec, allocated; they are the policy's
 * argv.  restart_spec_take_args() adds the words of such a text to a list. */
char *restart_spec_args(const struct policy *p);
int restart_spec_take_args(const char *text, struct list *to, struct err *e);

/* Returns the content of the file of --seccomp, allocated.  It is saved because
 * commands in the sandbox may be able to change the file.  NULL: there is none, or it
 * cannot be read, which the launch reports. */
char *restart_spec_profile(const struct policy *p);

/* Adds the saved settings of sandbox `name` to the policy in `o`; values from options
 * of the command line stay.  A secret for which there is no option gets the value of
 * the caller's variable; ERR_USAGE: some secrets have neither.  ERR_REFUSED: `kept` was
 * not written by restart_spec_describe(). */
int restart_spec_apply(struct run_options *o, const char *name, struct policy_file *kept,
		       struct err *e);

/* Returns a line for each path of the host that the sandbox shows: where it leads, with
 * links resolved.  The folders of published unix sockets have lines too.  Allocated. */
char *restart_spec_places(struct policy *p);

/* Checks that all these paths still lead where the lines in `kept` say.  ERR_REFUSED:
 * one leads elsewhere.  A command in the sandbox may have replaced a folder by a
 * symbolic link, so that the next start would show the link's target.  On success the
 * policy has the resolved paths, and no link in them is followed any more. */
int restart_spec_hold_places(struct policy *p, char *kept, struct err *e);
