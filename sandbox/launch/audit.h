/* audit -- writes the audit log of a sandbox: `--audit` (docs/hutch-audit.md).
 *
 *	audit_init, audit_open, audit_launch, audit_add ..., audit_done
 *
 * The host side writes the log, and no process inside can reach it: its folder
 * is masked in every mount (sandbox/plan/volumes.c).  An action is recorded before
 * it is done; if that fails, the action is not done.  Its result is recorded
 * afterwards; if that fails, the next entry that is written says how many were
 * lost.
 *
 * Without --audit none of these does anything, and audit_add() succeeds. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/redact.h"
#include "sandbox/launch/audit_json.h"
#include "store/ledger.h"

struct cgroup;
struct err;
struct launch;
struct policy;
struct refused_call;
struct result;

#define AUDIT_ID_LEN 12
/* The entry of a launch holds the policy unless that is longer than this; it
 * always holds the policy's digest. */
#define AUDIT_POLICY_MAX 16384

struct audit {
	struct ledger ledger;
	bool is_on;
	bool has_launch; /* the launch is on record */
	char id[AUDIT_ID_LEN + 1];
	const char *name; /* borrowed; NULL: the sandbox has none */
	char *path; /* owned: absolute path of the log's folder */
	const struct redact *secrets; /* borrowed: secrets to redact in entries */
	struct redact own; /* secrets of the policy; `secrets` unless another is lent */
	uint64_t lost;	 /* entries since the last one that was written */
};

enum audit_kind {
	AUDIT_PASSING,
	AUDIT_LASTING /* audit_add() waits until the disk has it */
};

void audit_init(struct audit *a);
void audit_done(struct audit *a);

/* Opens the log that the policy names, if any.  To be called with the ids of
 * the user that the sandbox stands for. */
int audit_open(struct audit *a, const struct policy *p, struct err *e);

/* Continues the log at `path`, NULL for none, of a sandbox that may have ended. */
int audit_resume(struct audit *a, const char *path, const char *id, const char *name,
		 struct err *e);

/* Checks a value of --audit: "on", "off", or a folder with a '/' in it.  ERR_USAGE. */
int audit_check(const char *where, struct err *e);

/* Records a launch before it is done. */
int audit_launch(struct audit *a, const struct launch *l, struct err *e);
/* Records something that was not done, and why.  It stays undone whether this
 * succeeds or not. */
void audit_refused(struct audit *a, const char *what, const struct err *why);
/* Records a kind of system call that the filter has refused, and how often so
 * far (denials.h). */
void audit_refused_call(struct audit *a, const struct refused_call *c);
/* Records the end of a sandbox with one command. */
int audit_result(struct audit *a, const struct result *r, struct err *e);
/* Records the end of any other sandbox, and what it has used, as far as its
 * cgroup tells. */
struct audit_end {
	const char *reason;
	int exit_code;
	const struct err *error; /* kind ERR_NONE: none */
	const struct cgroup *cgroup;
};
int audit_end(struct audit *a, const struct audit_end *x, struct err *e);

/* Begin and write an entry; the caller adds its members between the two. */
void audit_note(const struct audit *a, struct audit_json *n);
int audit_add(struct audit *a, const char *event, struct audit_json *n,
	      enum audit_kind kind, struct err *e);

/* The effective policy, in the keys of a policy file; of variables only the
 * names.  Allocated. */
char *audit_policy(const struct policy *p, const struct redact *secrets);
