/* audit -- the parts of `hutch audit`. */
#pragma once

struct err;
struct ledger_walk;

/* Of `folder`, or, with NULL, where `--audit on` has it.  ledger_walk_done() is due. */
int audit_walk_begin(struct ledger_walk *w, const char *folder, struct err *e);

int audit_show_main(char **argv);
