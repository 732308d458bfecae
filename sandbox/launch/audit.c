#include "sandbox/launch/audit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/hex.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/environment.h"
#include "policy/policy.h"
#include "sandbox/cgroup/watchdog.h"
#include "sandbox/launch/audit_net.h"
#include "sandbox/launch/launch.h"
#include "sandbox/launch/result.h"
#include "sandbox/monitor/denials.h"
#include "sandbox/state/registry.h"
#include "store/folders.h"
#include "store/sha256.h"

void audit_init(struct audit *a)
{
	*a = (struct audit){ .is_on = false };
	ledger_init(&a->ledger);
}

void audit_done(struct audit *a)
{
	ledger_done(&a->ledger);
	redact_done(&a->own);
	own_free(&a->path);
	a->is_on = false;
}

/* --- where ------------------------------------------------------------------------ */

int audit_check(const char *where, struct err *e)
{
	if (!strcmp(where, "on") || !strcmp(where, "off") || strchr(where, '/'))
		return 0;
	(void)err_set(e, ERR_USAGE, "--audit takes on, off or a folder, not '%.100s'",
		      where);
	return err_remedy(e, "a folder is named with a / in it, such as ./%.100s",
			  *where ? where : "audit");
}

static int no_folder(struct err *e)
{
	(void)err_set(e, ERR_NOT_FOUND,
		      "--audit on: there is no data folder of user %u for the "
		      "audit log",
		      geteuid());
	return err_remedy(
		e, "set HOME or XDG_DATA_HOME to a folder of that user's, or name one: "
		   "--audit DIR");
}

int audit_resume(struct audit *a, const char *path, const char *id, const char *name,
		 struct err *e)
{
	if (!path)
		return 0;
	if (ledger_open(&a->ledger, path, e) < 0)
		return err_in(e, "--audit");
	(void)snprintf(a->id, sizeof(a->id), "%s", id);
	a->name = name;
	a->path = text_copy(path);
	a->secrets = &a->own;
	a->is_on = true;
	return 0;
}

int audit_open(struct audit *a, const struct policy *p, struct err *e)
{
	char id[AUDIT_ID_LEN + 1];

	if (!p->audit || !strcmp(p->audit, "off"))
		return 0;
	AUTO_FREE char *path = folder_audit(p->audit);
	if (!path)
		return no_folder(e);
	if (environment_mask(p, &a->own, e) < 0 || hex_random(id, AUDIT_ID_LEN, e) < 0)
		return -1;
	return audit_resume(a, path, id, NULL, e);
}

/* --- entries ---------------------------------------------------------------------- */

/* Begins an entry with the sandbox's id and name, the first members of every entry. */
void audit_note(const struct audit *a, struct audit_json *n)
{
	audit_json_begin(n, a->secrets, LEDGER_ENTRY_MAX);
	audit_json_text(n, "sandbox", a->id);
	audit_json_text(n, "name", a->name);
}

int audit_add(struct audit *a, const char *event, struct audit_json *n,
	      enum audit_kind kind, struct err *e)
{
	if (a->is_on && a->lost)
		audit_json_number(n, "lost", a->lost);
	bool is_cut = n->text.is_cut;
	AUTO_FREE char *members = audit_json_end(n);
	if (!a->is_on)
		return 0;
	int result =
		is_cut ? err_set(e, ERR_LIMIT, "the entry is too large")
		       : ledger_add(&a->ledger, event, members, kind == AUDIT_LASTING, e);
	if (result == 0) {
		a->lost = 0;
		return 0;
	}
	a->lost++;
	(void)err_in(e, "it could not be put on record (--audit)");
	return err_remedy(
		e, "make room where the audit log is; without --audit nothing is put on "
		   "record");
}

static void note_image(struct audit_json *n, const struct launch *l)
{
	const struct policy *p = l->policy;
	char digest[DIGEST_TEXT];

	if (p->image == IMAGE_HOST) {
		audit_json_text(n, "image", "host");
	} else if (p->image == IMAGE_STORE) {
		audit_json_text(n, "image", l->store_image.name);
		digest_print(&l->store_image.image, digest);
	} else {
		AUTO_FREE char *path = text_format("dir:%s", p->image_path);
		audit_json_text(n, "image", path);
	}
	audit_json_text(n, "image_digest", p->image == IMAGE_STORE ? digest : NULL);
}

static void note_policy(struct audit_json *n, const struct policy *p)
{
	AUTO_FREE char *policy = audit_policy(p, n->secrets);
	struct digest digest;

	sha256_bytes(policy, strlen(policy), &digest);
	audit_json_text(n, "policy_sha256", digest.hex);
	audit_json_json(n, "policy",
			strlen(policy) <= AUDIT_POLICY_MAX ? policy : "null");
}

int audit_launch(struct audit *a, const struct launch *l, struct err *e)
{
	struct audit_json n;

	if (!a->is_on)
		return 0;
	if (l->entry) {
		a->name = l->entry->name;
		memcpy(a->id, l->entry->id, sizeof(a->id));
	}
	audit_note(a, &n);
	audit_json_text(&n, "verb", l->verb ? l->verb : "run");
	audit_json_number(&n, "uid", geteuid());
	audit_json_words(&n, "argv", l->plan.argv.items,
		   l->policy->takes_actions ? 0 : l->plan.argv.count);
	audit_json_text(&n, "workdir", l->plan.workdir);
	audit_json_number(&n, "uid_inside", l->plan.uid);
	note_image(&n, l);
	audit_json_text(&n, "network", policy_network_word(l->policy));
	note_policy(&n, l->policy);
	int result = audit_add(a, "launch", &n, AUDIT_LASTING, e);
	a->has_launch = result == 0;
	return result;
}

void audit_refused(struct audit *a, const char *what, const struct err *why)
{
	struct audit_json n;

	if (!a->is_on)
		return;
	audit_note(a, &n);
	audit_json_text(&n, "what", what);
	audit_json_text(&n, "kind", err_kind_name(why->kind));
	audit_json_text(&n, "why", why->text);
	(void)audit_add(a, "refused", &n, AUDIT_LASTING, NULL); /* a failure is counted
								 * as a lost entry */
}

void audit_refused_call(struct audit *a, const struct refused_call *c)
{
	struct audit_json n;

	if (!a->is_on)
		return;
	AUTO_FREE char *what = syscall_text(c->call);
	audit_note(a, &n);
	audit_json_text(&n, "what", what);
	audit_json_text(&n, "layer", "seccomp");
	audit_json_text(&n, "rule", refused_call_rule(c));
	audit_json_number(&n, "count", c->count);
	(void)audit_add(a, "refused", &n, AUDIT_PASSING, NULL); /* a failure is counted
								 * as a lost entry */
}

/* --- ends ------------------------------------------------------------------------- */

static void note_count(struct audit_json *n, const char *key, uint64_t value)
{
	if (value)
		audit_json_number(n, key, value);
	else
		audit_json_json(n, key, "null");
}

static void note_seconds(struct audit_json *n, const char *key, double value)
{
	AUTO_FREE char *text = text_format("%.6f", value);

	audit_json_json(n, key, text);
}

static void note_error(struct audit_json *n, const struct err *e)
{
	audit_json_text(n, "error", e->kind == ERR_NONE ? NULL : e->text);
}

/* Records the end of a sandbox.  The entry is not synced to disk, so that a launch
 * waits for the disk only once.  After a power cut the end may be missing from the
 * log, as if hutch had been killed. */
int audit_end(struct audit *a, const struct audit_end *x, struct err *e)
{
	struct usage used = { 0 };
	struct consumption now = { 0 };
	struct audit_json n;

	if (!a->is_on)
		return 0;
	audit_net_tell_lost(a);
	bool has_cgroup = x->cgroup->procs >= 0;
	if (has_cgroup) {
		cgroup_usage(x->cgroup, &used);
		cgroup_consumption(x->cgroup, &now);
	}
	audit_note(a, &n);
	audit_json_text(&n, "reason", x->reason);
	audit_json_number(&n, "exit_code", (uint64_t)x->exit_code);
	if (has_cgroup)
		note_seconds(&n, "cpu_s", (double)now.cpu_us / 1e6);
	else
		audit_json_json(&n, "cpu_s", "null");
	note_count(&n, "memory_peak_bytes", used.memory_peak);
	note_count(&n, "pids_peak", used.pids_peak);
	note_error(&n, x->error);
	return audit_add(a, "end", &n, AUDIT_PASSING, e);
}

int audit_result(struct audit *a, const struct result *r, struct err *e)
{
	struct audit_json n;

	if (!a->is_on)
		return 0;
	audit_net_tell_lost(a);
	audit_note(a, &n);
	audit_json_text(&n, "reason", result_status_name(r->status));
	audit_json_number(&n, "exit_code", (uint64_t)r->exit_code);
	note_count(&n, "signal", (uint64_t)r->signal);
	note_seconds(&n, "wall_s", r->wall_s);
	note_seconds(&n, "user_s", r->user_s);
	note_seconds(&n, "sys_s", r->sys_s);
	note_count(&n, "memory_peak_bytes", r->memory_peak);
	note_count(&n, "pids_peak", r->pids_peak);
	note_error(&n, &r->error);
	return audit_add(a, "end", &n, AUDIT_PASSING, e);
}
