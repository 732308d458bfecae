/* audit -- writes the audit log of a sandbox: `--audit` (docs/hutch-audit.md).
 *
 *	audit_init, audit_open, audit_launch, audit_add ..., audit_done
 *
 * The host side writes the log, and no process inside can reach it: the log's folder
 * is masked in every mount (sandbox/plan/volumes.c).  An action is recorded before
 * it is done; if that fails, the action is not done.  The action's result is
 * recorded afterwards; if that fails, the next entry that is written says how many
 * entries were lost.
 *
 * Without --audit these functions do nothing, and audit_add() succeeds. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/redact.h"
#include "sandbox/launch/audit_json.h"
#include "sandbox/launch/audit_net.h"
#include "store/ledger.h"

struct cgroup;
struct err;
struct launch;
struct policy;
struct refused_call;
struct result;

#define AUDIT_ID_LEN 12
/* The most bytes of a policy in the entry of a launch.  A longer policy is left out;
 * the entry always holds the policy's digest. */
#define AUDIT_POLICY_MAX 16384

struct audit {
	struct ledger ledger;
	bool is_on;
	bool has_launch; /* the log has the entry of the launch */
	char id[AUDIT_ID_LEN + 1];
	const char *name; /* borrowed: the sandbox's name; NULL: the sandbox has none */
	char *path; /* owned: the absolute path of the log's folder */
	const struct redact *secrets; /* borrowed: secrets to redact in entries */
	/* owned: secrets of the policy; `secrets` points here until the caller lends
	 * another set */
	struct redact own;
	uint64_t lost;	 /* how many entries could not be written since the last
			  * successful write */
	struct audit_net net;
};

enum audit_kind {
	AUDIT_PASSING,
	AUDIT_LASTING /* audit_add() waits until the entry is on disk */
};

void audit_init(struct audit *a);
void audit_done(struct audit *a);

/* Opens the log that the policy names, if it names one.  To be called with the ids
 * of the user that the sandbox stands for. */
int audit_open(struct audit *a, const struct policy *p, struct err *e);

/* Opens the log at `path` again, to add entries for a sandbox that may have ended;
 * `path` NULL: there is no log. */
int audit_resume(struct audit *a, const char *path, const char *id, const char *name,
		 struct err *e);

/* Checks a value of --audit: "on", "off", or a folder with a '/' in it.  Any other
 * value is ERR_USAGE. */
int audit_check(const char *where, struct err *e);

/* Records a launch; to be called before the sandbox is started. */
int audit_launch(struct audit *a, const struct launch *l, struct err *e);
/* Records that hutch refused to do something, and why.  If the record fails, the refusal
 * stands all the same. */
void audit_refused(struct audit *a, const char *what, const struct err *why);
/* Records a refused system call, and how often the filter has refused such a call so far
 * (denials.h). */
void audit_refused_call(struct audit *a, const struct refused_call *c);
/* Records the end of a sandbox that ran a single command. */
int audit_result(struct audit *a, const struct result *r, struct err *e);
/* How a sandbox ended that was not made for a single command, for audit_end().  The
 * resources that the sandbox has used are recorded as far as its cgroup tells. */
struct audit_end {
	const char *reason;
	int exit_code;
	const struct err *error; /* kind ERR_NONE: there was no error */
	const struct cgroup *cgroup;
};
int audit_end(struct audit *a, const struct audit_end *x, struct err *e);

/* audit_note() begins an entry, audit_add() writes it; the caller adds the entry's
 * members between the two. */
void audit_note(const struct audit *a, struct audit_json *n);
int audit_add(struct audit *a, const char *event, struct audit_json *n,
	      enum audit_kind kind, struct err *e);

/* Returns the effective policy as a JSON object with the keys of a policy file.  The
 * names of environment variables are in it, but not their values.  Allocated. */
char *audit_policy(const struct policy *p, const struct redact *secrets);
