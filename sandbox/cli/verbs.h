/* verbs -- those about sandboxes that have a name.
 *
 * Each takes the words behind the verb and returns the exit code of hutch.  What they
 * do, they do through the control socket (client.h) or by looking into the registry
 * (sandbox/registry.h), and print errors themselves. */
#pragma once

int act_named(char **argv); /* hutch act NAME */
int apply_main(char **argv);
int audit_main(char **argv);
int connect_main(char **argv);
int cp_main(char **argv);
int diff_main(char **argv);
int discard_main(char **argv);
int events_main(char **argv);
int inspect_main(char **argv);
int kill_main(char **argv);
int logs_main(char **argv);
int pause_main(char **argv);
int policy_main(char **argv);
int pool_main(char **argv);
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
