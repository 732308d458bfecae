/* Prints the plan for a person to read: `hutch run --dry-run`. */
#include <linux/sched.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/own.h"
#include "base/redact.h"
#include "base/term_escape.h"
#include "policy/environment.h"
#include "policy/policy.h"
#include "policy/port_spec.h"
#include "policy/units.h"
#include "sandbox/kernel/caps.h"
#include "sandbox/plan/plan.h"

static const char *const kind_names[] = {
	[STEP_ROOT] = "root",	    [STEP_OVERLAY] = "overlay",
	[STEP_DIR] = "folder",	    [STEP_SYMLINK] = "link",
	[STEP_FILE] = "file",	    [STEP_BIND] = "bind",
	[STEP_COW] = "cow",
	[STEP_SCRATCH] = "scratch", [STEP_TMPFS] = "tmpfs",
	[STEP_PROC] = "proc",	    [STEP_DEVPTS] = "devpts",
	[STEP_MASK] = "mask",	    [STEP_READONLY] = "readonly",
	[STEP_SEAL] = "seal",	    [STEP_CGROUP] = "cgroup",
	[STEP_LOGS] = "logs",	    [STEP_MERGE] = "merge",
};
_Static_assert(ARRAY_LEN(kind_names) == STEP_KIND_COUNT, "a step has no name");

static void print_field(FILE *to, const char *key, const char *value)
{
	AUTO_FREE char *line = term_escape_line(value);

	(void)fprintf(to, " %s%s", key, line);
}

static void print_step(const struct step *s, FILE *to)
{
	(void)fprintf(to, "%-9s", kind_names[s->kind]);
	print_field(to, "", s->target);
	if (s->source)
		print_field(to, "<- ", s->source);
	for (size_t i = 0; s->lowers && i < s->lowers->count; i++)
		print_field(to, "<- ", s->lowers->items[i]);
	if (s->kind == STEP_BIND)
		(void)fprintf(to, " %s%s%s", s->attr & MOUNT_ATTR_RDONLY ? "ro" : "rw",
			      s->attr & MOUNT_ATTR_NODEV ? ",nodev" : "",
			      s->attr & MOUNT_ATTR_NOEXEC ? ",noexec" : "");
	if (s->kind == STEP_SYMLINK)
		print_field(to, "-> ", s->data);
	else if (s->kind == STEP_FILE)
		(void)fprintf(to, " %zu bytes", strlen(s->data));
	else if (s->data)
		print_field(to, "", s->data);
	if (s->mode)
		(void)fprintf(to, " %04o", (unsigned)s->mode);
	if (s->from)
		print_field(to, " (", s->from);
	(void)fprintf(to, "%s\n", s->from ? ")" : "");
}

static void print_maps(const char *name, const struct idmap *maps, size_t count, FILE *to)
{
	for (size_t i = 0; i < count; i++) {
		(void)fprintf(to, "%-9s %u inside is %u on this host", name,
			      maps[i].inside, maps[i].outside);
		if (maps[i].count > 1)
			(void)fprintf(to, ", and so on for %u", maps[i].count);
		(void)fprintf(to, "\n");
	}
}

static void print_namespaces(uint64_t flags, FILE *to)
{
	static const struct {
		uint64_t flag;
		const char *name;
	} names[] = { { CLONE_NEWUSER, "user" }, { CLONE_NEWNS, "mount" },
		      { CLONE_NEWPID, "pid" },	 { CLONE_NEWNET, "net" },
		      { CLONE_NEWIPC, "ipc" },	 { CLONE_NEWUTS, "uts" },
		      { CLONE_NEWCGROUP, "cgroup" } };

	(void)fprintf(to, "new      ");
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (flags & names[i].flag)
			(void)fprintf(to, " %s", names[i].name);
	(void)fprintf(to, "\n");
}

static void print_caps(uint64_t caps, FILE *to)
{
	(void)fprintf(to, "caps     ");
	for (int n = 0; n < 64; n++)
		if (caps & (1ull << n))
			(void)fprintf(to, " %s", caps_name(n).text);
	(void)fprintf(to, "%s\n", caps ? "" : " none");
}

static void print_number(const char *name, uint64_t value, FILE *to)
{
	if (value)
		(void)fprintf(to, "limit     %s %llu\n", name, (unsigned long long)value);
}

/* Prints the limits of the sandbox as a whole. */
static void print_bounds(const struct policy *policy, FILE *to)
{
	const struct limits *l = &policy->limits;

	print_number("memory", l->memory, to);
	if (l->cpus)
		(void)fprintf(to, "limit     cpus %u.%03u\n", l->cpus / 1000,
			      l->cpus % 1000);
	print_number("pids", l->pids, to);
	print_number("disk", l->disk, to);
	if (!policy_wants_cgroup(policy))
		return;
	(void)fprintf(to, "limits by a cgroup");
	if (policy->cgroup_parent)
		print_field(to, "in ", policy->cgroup_parent);
	(void)fprintf(to, "%s\n", policy->is_best_effort ? ", or weaker ones" : "");
}

/* Prints a sysctl's name as sysctl(8) writes it: "net.unix.max_dgram_qlen". */
static void print_sysctl(const struct sysctl *s, FILE *to)
{
	(void)fprintf(to, "sysctl    ");
	for (const char *at = s->name; *at; at++)
		(void)fputc(*at == '/' ? '.' : *at, to);
	(void)fprintf(to, " = %llu\n", (unsigned long long)s->value);
}

static void print_limits(const struct plan *p, FILE *to)
{
	for (uint32_t i = 0; i < p->rlimit_count; i++) {
		const struct exec_rlimit *r = &p->rlimits[i];
		(void)fprintf(to, "limit     %s ", units_ulimit_name((int)r->resource));
		if (r->soft == UINT64_MAX)
			(void)fprintf(to, "unlimited\n");
		else
			(void)fprintf(to, "%llu\n", (unsigned long long)r->soft);
	}
	for (size_t i = 0; i < p->sysctl_count; i++)
		print_sysctl(&p->sysctls[i], to);
}

static void print_variable(const struct policy *policy, const char *variable, FILE *to)
{
	size_t len = strcspn(variable, "=");
	AUTO_FREE char *hidden = text_format("%.*s=" REDACT_TEXT, (int)len, variable);

	print_field(to, "",
		    environment_is_secret(policy, variable, len) ? hidden : variable);
}

/* Prints the command's arguments.  If an argument contains a secret's value, the value
 * is hidden. */
static void print_words(const struct plan *p, const struct policy *policy, FILE *to)
{
	struct redact m = { 0 };

	(void)environment_mask(policy, &m, NULL); /* cannot fail: policy_check() has
						   * checked the secrets */
	for (size_t i = 0; i < p->argv.count; i++) {
		const char *word = p->argv.items[i];
		AUTO_FREE char *shown = redact_copy(&m, word);
		print_field(to, "", shown);
	}
	redact_done(&m);
}

/* Returns a text about Landlock's protection of the root (landlock_root.h). */
static const char *landlock_root_text(const struct plan *p, const struct policy *policy)
{
	if (p->has_landlock_root)
		return "nothing outside of the root can be opened";
	return p->nests ? "off, since --nesting lets commands mount"
	       : policy->landlock_root == LANDLOCK_ROOT_OFF
		       ? "off"
		       : "none in this kernel, or too old a one";
}

static void print_network(const struct policy *policy, FILE *to)
{
	static const char *const texts[] = { [NETWORK_NONE] = "none but loopback",
					     [NETWORK_HOST] = "this host's",
					     [NETWORK_ALLOW] = "by rules alone; hutch doctor says its form",
					     [NETWORK_NS] = "that of" };

	(void)fprintf(to, "network   %s", texts[policy->network]);
	if (policy->network == NETWORK_NS)
		print_field(to, "", policy_netns_path(policy));
	(void)fputc('\n', to);
	for (size_t i = 0; i < policy->joins.count; i++)
		(void)fprintf(to, "joins     %s\n", policy->joins.items[i]);
	for (size_t i = 0; i < policy->egress.count; i++)
		(void)fprintf(to, "egress    %s\n", policy->egress.items[i]);
	for (size_t i = 0; i < policy->publish_count; i++) {
		(void)fprintf(to, "publish  ");
		print_field(to, "", port_spec_word(&policy->publishes[i]));
		(void)fprintf(to, "\n");
	}
}

/* Prints which system calls are refused, or answered, for other reasons than the seccomp
 * profile. */
static void print_walls(const struct plan *p, const struct policy *policy, FILE *to)
{
	(void)fprintf(to, "landlock  %s\n", landlock_root_text(p, policy));
	if (plan_has_broker(p))
		(void)fprintf(
			to,
			"seccomp   names are made by another process, but for protected "
			"ones\n");
	if (p->hides_abstract)
		(void)fprintf(to, "landlock  abstract sockets and signals stay inside\n");
	if (p->refuses_unix)
		(void)fprintf(to, "seccomp   socket(AF_UNIX) is refused\n");
}

static void print_command(const struct plan *p, const struct policy *policy, FILE *to)
{
	print_caps(p->caps, to);
	(void)fprintf(to, "seccomp  ");
	print_field(to, "", policy->seccomp ? policy->seccomp : "the default profile");
	if (p->nests)
		(void)fprintf(to,
			      "\nseccomp   commands may make namespaces, and mount in "
			      "them");
	if (p->pretends)
		(void)fprintf(to, "\nseccomp   changes of owners and ids pretend");
	(void)fprintf(to, "\nuser      %u:%u\nfolder   ", p->uid, p->gid);
	print_field(to, "", p->workdir);
	(void)fprintf(to, "\n");
	for (size_t i = 0; i < p->env.count; i++) {
		(void)fprintf(to, "env      ");
		print_variable(policy, p->env.items[i], to);
		(void)fprintf(to, "\n");
	}
	(void)fprintf(to, "run      ");
	print_words(p, policy, to);
	(void)fprintf(to, "\n");
}

void plan_print(const struct plan *p, const struct policy *policy, FILE *to)
{
	print_namespaces(p->namespaces, to);
	print_maps("uid", p->ids.uids, p->ids.uid_count, to);
	print_maps("gid", p->ids.gids, p->ids.gid_count, to);
	for (size_t i = 0; i < p->count; i++)
		print_step(&p->steps[i], to);
	print_network(policy, to);
	print_walls(p, policy, to);
	(void)fprintf(to, "hostname  %s\n", p->hostname);
	print_limits(p, to);
	print_bounds(policy, to);
	print_command(p, policy, to);
}
