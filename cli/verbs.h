/* verbs -- the verbs without a header of their own.
 *
 * Each takes the words after the verb, prints its errors itself, and returns
 * hutch's exit code.  The verbs use the control socket (client.h) or read the
 * registry (sandbox/state/registry.h). */
#pragma once

int act_named(char **argv); /* hutch act NAME */
int apply_main(char **argv);
int audit_main(char **argv);
int changes_main(char **argv);
int connect_main(char **argv);
int cp_main(char **argv);
int diff_main(char **argv);
int discard_main(char **argv);
int events_main(char **argv);
int inspect_main(char **argv);
int kill_main(char **argv);
int logs_main(char **argv);
int net_main(char **argv);
int pause_main(char **argv);
int policy_main(char **argv);
int pool_main(char **argv);
int plugin_main(char **argv);
int port_main(char **argv);
int ps_main(char **argv);
int rename_main(char **argv);
int rm_main(char **argv);
int stats_main(char **argv);
int stop_main(char **argv);
int unpause_main(char **argv);
int update_main(char **argv);
int wait_main(char **argv);
int why_main(char **argv);
