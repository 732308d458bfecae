/* again -- what a sandbox is made with, as it is kept, and as another start takes it up
 * (sandbox/definition.h).
 *
 * Variables are kept with their values, wherever these came from, but for secrets: of
 * those only the names are, and whoever starts the sandbox gives them anew. */
#pragma once

struct err;
struct policy;
struct run_options;
struct settings;

/* Makes of `said`, what flags and policies said, what is to be kept of it.  ERR_REFUSED: a
 * secret's value stands in something else that would be kept.  ERR_UNSUPPORTED, ERR_LIMIT:
 * it could not be read again as it is. */
int again_describe(const struct policy *p, struct settings *said, struct err *e);

/* What the file of --seccomp says, which the inside may be able to write to; allocated.
 * NULL: none, or it cannot be read, which the launch will say. */
char *again_profile(const struct policy *p);

/* Fills in the options' policy by what was kept of `name`; what flags have set stays.  A
 * secret that has no flag takes the caller's variable; ERR_USAGE names those that have
 * neither.
 * ERR_REFUSED: what is kept is not as again_describe() makes it. */
int again_apply(struct run_options *o, const char *name, struct settings *kept, struct err *e);

/* Where all that is shown of the host's leads now, without links, and the folders of unix
 * sockets that are published: lines, allocated. */
char *again_places(struct policy *p);

/* ERR_REFUSED: one of them leads elsewhere than in `kept`.  Who was inside may have put a
 * link in the place of a folder that was shown twice, and would be shown what it leads to.
 * From then on the policy has their paths without links, and no link there is followed. */
int again_hold_places(struct policy *p, char *kept, struct err *e);
