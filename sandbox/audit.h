/* audit -- what is put on record of a sandbox: `--audit` (docs/hutch-audit.md).
 *
 *	audit_init, audit_open, audit_launch, audit_add ..., audit_done
 *
 * The host's side writes it, and nobody inside can reach it: it is masked in all that is
 * shown (sandbox/volumes.c).  What is going to be done is on record before it is done;
 * where that cannot be, it is not done.  What came of it is on record behind it; where that
 * cannot be, the next entry that can says how many were lost.
 *
 * Without --audit none of these does anything, and audit_add() succeeds. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/mask.h"
#include "sandbox/note.h"
#include "store/ledger.h"

struct cgroup;
struct err;
struct launch;
struct policy;
struct refused_call;
struct result;

#define AUDIT_ID_LEN 12
/* The policy is in the entry of a launch unless it is longer; its digest always is. */
#define AUDIT_POLICY_MAX 16384

struct audit {
	struct ledger ledger;
	bool is_on;
	bool has_launch; /* the sandbox is on record */
	char id[AUDIT_ID_LEN + 1];
	const char *name; /* borrowed; NULL: it has none */
	char *path; /* owned: of its folder, absolute */
	const struct mask *mask; /* borrowed: what entries do not tell */
	struct mask own; /* of the policy's secrets, where nobody has lent another */
	uint64_t lost;	 /* entries, since the last one */
};

enum audit_kind {
	AUDIT_PASSING,
	AUDIT_LASTING /* the disk has it before this goes on */
};

void audit_init(struct audit *a);
void audit_done(struct audit *a);

/* As whom the sandbox stands for. */
int audit_open(struct audit *a, const struct policy *p, struct err *e);

/* Goes on with the log at `path`, NULL for none, of a sandbox that may have ended. */
int audit_resume(struct audit *a, const char *path, const char *id, const char *name,
		 struct err *e);

/* Whether `where` is one of the values of --audit: "on", "off", or a folder with a '/' in
 * it.  ERR_USAGE if not. */
int audit_check(const char *where, struct err *e);

/* What is going to be started. */
int audit_launch(struct audit *a, const struct launch *l, struct err *e);
/* Something that was not done, and why.  It is not done whether this succeeds or not. */
void audit_refused(struct audit *a, const char *what, const struct err *why);
/* A kind of system calls that the filter has refused, and how often so far (refusals.h). */
void audit_refused_call(struct audit *a, const struct refused_call *c);
/* How a sandbox with one command ended. */
int audit_result(struct audit *a, const struct result *r, struct err *e);
/* How another one did, and what it has used as far as its cgroup tells. */
struct audit_end {
	const char *reason;
	int exit_code;
	const struct err *error; /* kind ERR_NONE: none */
	const struct cgroup *cgroup;
};
int audit_end(struct audit *a, const struct audit_end *x, struct err *e);

/* An entry of what is noted between the two. */
void audit_note(const struct audit *a, struct note *n);
int audit_add(struct audit *a, const char *event, struct note *n, enum audit_kind kind,
	      struct err *e);

/* The effective policy, in the keys of a policy file; of variables the names alone.
 * Allocated. */
char *audit_policy(const struct policy *p, const struct mask *mask);
