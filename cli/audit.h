/* audit -- the parts of `hutch audit`. */
#pragma once

struct err;
struct ledger_walk;

/* Begins to walk through the log in `folder`; with NULL in the default folder of
 * `--audit on`.  Call ledger_walk_done() afterwards. */
int audit_walk_begin(struct ledger_walk *w, const char *folder, struct err *e);

int audit_show_main(char **argv);
