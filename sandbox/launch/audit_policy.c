#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/policy.h"
#include "policy/port_spec.h"
#include "policy/volume.h"
#include "sandbox/kernel/caps.h"
#include "sandbox/launch/audit.h"

/* The most bytes of a policy as JSON; every policy that can be read is smaller. */
#define POLICY_TEXT_MAX (64u << 20)

/* Returns the path of a host folder with its links resolved, allocated: so the log says
 * which folder a relative path meant at the launch. */
static char *real_path(const char *path)
{
	char *real = realpath(path, NULL);

	return real ? real : text_copy(path);
}

static void note_path(struct audit_json *n, const char *key, const char *path)
{
	AUTO_FREE char *real = path ? real_path(path) : NULL;

	if (path)
		audit_json_text(n, key, real);
}

static void note_volumes(struct audit_json *n, const struct policy *p, const char *key,
			 enum volume_kind kind)
{
	struct list l = { 0 };

	for (size_t i = 0; i < p->volume_count; i++)
		if (p->volumes[i].kind == kind) {
			const struct volume *v = &p->volumes[i];
			AUTO_FREE char *source = v->source ? real_path(v->source) : NULL;
			AUTO_FREE char *word = volume_word(v, source);
			list_add(&l, word);
		}
	if (l.count && kind == VOLUME_WORKSPACE)
		audit_json_text(n, key, l.items[0]);
	else if (l.count)
		audit_json_list(n, key, &l);
	list_done(&l);
}

/* Writes the names of environment variables, without values: a value may be a secret
 * that was never declared as one. */
static void note_variables(struct audit_json *n, const struct policy *p)
{
	struct list names = { 0 };

	for (size_t i = 0; i < p->env_set.count; i++) {
		const char *word = p->env_set.items[i];
		list_addf(&names, "%.*s", (int)strcspn(word, "="), word);
	}
	if (names.count)
		audit_json_list(n, "env", &names);
	if (p->secrets.count)
		audit_json_list(n, "secrets", &p->secrets);
	list_done(&names);
}

static void note_caps(struct audit_json *n, const char *key, uint64_t caps, bool has_all)
{
	struct list names = { 0 };

	if (has_all)
		list_add(&names, "ALL");
	for (int i = 0; i < 64; i++)
		if (caps & 1ull << i)
			list_add(&names, caps_name(i).text);
	if (names.count)
		audit_json_list(n, key, &names);
	list_done(&names);
}

static void note_limits(struct audit_json *n, const struct policy *p)
{
	const struct {
		const char *key;
		uint64_t value;
	} limits[] = {
		{ "memory", p->limits.memory },	 { "disk", p->limits.disk },
		{ "pids", p->limits.pids },	 { "cpus_thousandths", p->limits.cpus },
		{ "timeout_ms", p->timeout_ms },
	};
	struct audit_json inner;

	audit_json_begin(&inner, n->secrets, AUDIT_JSON_TEXT_MAX);
	for (size_t i = 0; i < ARRAY_LEN(limits); i++)
		if (limits[i].value)
			audit_json_number(&inner, limits[i].key, limits[i].value);
	if (p->is_best_effort)
		audit_json_yes(&inner, "best_effort", true);
	AUTO_FREE char *members = audit_json_end(&inner);
	AUTO_FREE char *object = text_format("{%s}", members);
	if (*members)
		audit_json_json(n, "limits", object);
}

static void note_ulimits(struct audit_json *n, const struct policy *p)
{
	struct list l = { 0 };

	for (size_t i = 0; i < p->ulimit_count; i++)
		list_add(&l, p->ulimits[i].from);
	if (l.count)
		audit_json_list(n, "ulimits", &l);
	list_done(&l);
}

/* Writes rules as they stand in the policy's file, with each newline replaced by a blank, since an entry is one line.  Newlines stand only between JSON tokens: a JSON
 * string holds none (RFC 8259). */
static void note_rules(struct audit_json *n, const char *key, const struct list *rules)
{
	AUTO_FREE char *all = rules->count ? list_join(rules, 0, ",") : NULL;

	if (!all)
		return;
	for (char *at = all; *at; at++)
		if (*at == '\n' || *at == '\r' || *at == '\t')
			*at = ' ';
	AUTO_FREE char *array = text_format("[%s]", all);
	audit_json_json(n, key, array);
}

static void note_image(struct audit_json *n, const struct policy *p)
{
	AUTO_FREE char *path = p->image == IMAGE_DIR ? real_path(p->image_path) : NULL;
	AUTO_FREE char *image =
		path ? text_format("dir:%s%s", path, p->is_image_writable ? ":rw" : "")
		: p->image == IMAGE_STORE ? text_copy(p->image_path)
					  : text_copy("host");

	audit_json_text(n, "image", image);
	if (p->entrypoint)
		audit_json_text(n, "entrypoint", p->entrypoint);
	note_path(n, "upper", p->upper);
	audit_json_yes(n, "read_only", p->is_read_only);
}

static void note_person(struct audit_json *n, const struct policy *p)
{
	if (p->workdir)
		audit_json_text(n, "workdir", p->workdir);
	if (p->user)
		audit_json_text(n, "user", p->user);
	if (p->hostname)
		audit_json_text(n, "hostname", p->hostname);
	audit_json_text(n, "idmap", p->idmap == IDMAP_RANGES ? "ranges" : "single");
	audit_json_text(n, "network", policy_network_word(p));
}

static void note_publishes(struct audit_json *n, const struct policy *p)
{
	struct list words = { 0 };

	for (size_t i = 0; i < p->publish_count; i++)
		list_add(&words, port_spec_word(&p->publishes[i]));
	if (words.count)
		audit_json_list(n, "publish", &words);
	list_done(&words);
}

char *audit_policy(const struct policy *p, const struct redact *secrets)
{
	struct audit_json n;

	audit_json_begin(&n, secrets, POLICY_TEXT_MAX);
	note_image(&n, p);
	note_volumes(&n, p, "workspace", VOLUME_WORKSPACE);
	note_volumes(&n, p, "mounts", VOLUME_BIND);
	note_volumes(&n, p, "toolchains", VOLUME_TOOLCHAIN);
	note_volumes(&n, p, "tmpfs", VOLUME_TMPFS);
	if (p->protects.count)
		audit_json_list(&n, "protected", &p->protects);
	if (p->protects_missing)
		audit_json_yes(&n, "protect_missing", true);
	note_variables(&n, p);
	note_person(&n, p);
	note_rules(&n, "egress", &p->egress);
	if (p->add_hosts.count)
		audit_json_list(&n, "add_hosts", &p->add_hosts);
	if (p->joins.count)
		audit_json_list(&n, "network_join", &p->joins);
	note_publishes(&n, p);
	note_caps(&n, "capabilities_add", p->cap_add, false);
	note_caps(&n, "capabilities_drop", p->cap_drop, p->drops_all_caps);
	if (p->is_nesting)
		audit_json_yes(&n, "nesting", true);
	note_path(&n, "seccomp", p->seccomp);
	if (p->landlock_root != LANDLOCK_ROOT_AUTO)
		audit_json_text(&n, "landlock",
				p->landlock_root == LANDLOCK_ROOT_ON ? "on" : "off");
	note_limits(&n, p);
	note_ulimits(&n, p);
	note_path(&n, "cgroup_parent", p->cgroup_parent);
	note_rules(&n, "rules", &p->rules);
	if (p->lints)
		audit_json_yes(&n, "lint", true);
	if (p->inherits_stdio)
		audit_json_yes(&n, "stdio_inherit", true);
	AUTO_FREE char *members = audit_json_end(&n);
	return text_format("{%s}", members);
}
