#include "cli/common/option_table.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <strings.h>

#include "base/err.h"
#include "base/list.h"
#include "base/note.h"
#include "base/own.h"
#include "cli/common/fd_flag.h"
#include "cli/common/options.h"
#include "policy/egress_policy.h"
#include "policy/environment.h"
#include "policy/extra_host.h"
#include "policy/isolation.h"
#include "policy/label.h"
#include "policy/policy.h"
#include "policy/policy_file.h"
#include "policy/port_spec.h"
#include "policy/protect.h"
#include "policy/rules.h"
#include "policy/signal_name.h"
#include "policy/units.h"
#include "policy/volume.h"
#include "sandbox/kernel/caps.h"
#include "sandbox/launch/audit.h"
#include "sandbox/state/registry.h"
#include "store/reference.h"

static int set_text(char **place, const char *value)
{
	free(*place);
	*place = text_copy(value);
	return 0;
}

/* Takes PATH or PATH:rw. */
static int take_image_dir(struct policy *p, const char *value, struct err *e)
{
	static const char mode[] = ":rw";
	const size_t len = strlen(value), end = strlen(mode);

	p->image = IMAGE_DIR;
	p->is_image_writable = len >= end && !strcmp(value + len - end, mode);
	AUTO_FREE char *path =
		text_format("%.*s", (int)(len - (p->is_image_writable ? end : 0)), value);
	if (!*path)
		return err_set(e, ERR_USAGE, "--image dir: names no folder");
	return set_text(&p->image_path, path);
}

static int take_image(struct run_options *o, const char *value, struct err *e)
{
	struct reference r;

	o->policy->is_image_writable = false;
	if (!strcmp(value, "host")) {
		o->policy->image = IMAGE_HOST;
		return 0;
	}
	if (!strncmp(value, "dir:", 4))
		return take_image_dir(o->policy, value + 4, e);
	if (reference_parse(value, &r, e) < 0) {
		(void)err_in(e, "--image");
		return err_remedy(e,
				  "--image takes host, dir:PATH, or a reference such as "
				  "python:3.12");
	}
	o->policy->image = IMAGE_STORE;
	return set_text(&o->policy->image_path, value);
}

/* Reads the policy file that --policy names.  Policies are read before all other
 * flags, so that flags override them. */
static int take_policy(struct run_options *o, const char *value, struct err *e)
{
	return policy_file_read(o->settings, value, e) < 0 ? err_in(e, "--policy") : 0;
}

static int take_pull(struct run_options *o, const char *value, struct err *e)
{
	static const char *const names[] = { [PULL_MISSING] = "missing",
					     [PULL_ALWAYS] = "always",
					     [PULL_NEVER] = "never" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strcmp(value, names[i]))
			continue;
		o->policy->pull = (enum pull)i;
		return 0;
	}
	return err_set(e, ERR_USAGE, "--pull takes missing, always or never, not '%.60s'",
		       value);
}

static int take_entrypoint(struct run_options *o, const char *value, struct err *e)
{
	(void)e; /* policy_check() judges the value, since it knows the image */
	return set_text(&o->policy->entrypoint, value);
}

static int take_upper(struct run_options *o, const char *value, struct err *e)
{
	if (!*value)
		return err_set(e, ERR_USAGE, "--upper names no folder");
	return set_text(&o->policy->upper, value);
}

static int take_keep(struct run_options *o, const char *value, struct err *e)
{
	(void)value, (void)e;
	o->policy->keeps = true;
	return 0;
}

static int take_volume(struct run_options *o, const char *value, struct err *e)
{
	return volume_parse_bind(o->policy, value, e);
}

static int take_workspace(struct run_options *o, const char *value, struct err *e)
{
	return volume_parse_workspace(o->policy, value, e);
}

static int take_toolchain(struct run_options *o, const char *value, struct err *e)
{
	return volume_parse_toolchain(o->policy, value, e);
}

static int take_tmpfs(struct run_options *o, const char *value, struct err *e)
{
	return volume_parse_tmpfs(o->policy, value, e);
}

static int take_env(struct run_options *o, const char *value, struct err *e)
{
	return environment_add(o->policy, value, e) < 0 ? err_in(e, "-e") : 0;
}

static int take_env_file(struct run_options *o, const char *value, struct err *e)
{
	return environment_add_file(o->policy, value, e);
}

/* Takes the value of a secret.  Every user can read a process's arguments (proc(5),
 * cmdline), so the value is overwritten as soon as it is copied. */
static int take_secret(struct run_options *o, const char *value, struct err *e)
{
	char *at = strchr((char *)(uintptr_t)value, '=');
	int added = environment_add_secret(o->policy, value, e);

	if (at)
		memset(at + 1, '*', strlen(at + 1));
	return added < 0 ? err_in(e, "--secret") : 0;
}

static int take_secret_file(struct run_options *o, const char *value, struct err *e)
{
	return environment_add_secret_file(o->policy, value, e);
}

static int take_protect(struct run_options *o, const char *value, struct err *e)
{
	if (protect_check(value, e) < 0)
		return err_in(e, "--protect");
	if (o->policy->protects.count == PROTECT_MAX)
		return err_set(e, ERR_LIMIT, "--protect: %d patterns are the most",
			       PROTECT_MAX);
	list_add(&o->policy->protects, value);
	return 0;
}

static int take_protect_missing(struct run_options *o, const char *value, struct err *e)
{
	(void)value, (void)e;
	o->policy->protects_missing = true;
	return 0;
}

static int take_workdir(struct run_options *o, const char *value, struct err *e)
{
	AUTO_FREE char *clean = NULL;

	if (volume_normalize(value, &clean, e) < 0) {
		if (*value && *value != '/')
			(void)err_remedy(e, "a path inside begins with /: -w /workspace");
		return err_in(e, "-w");
	}
	return set_text(&o->policy->workdir, clean);
}

static int take_user(struct run_options *o, const char *value, struct err *e)
{
	(void)e; /* policy_check() judges the value, since it knows the id map */
	return set_text(&o->policy->user, value);
}

static int take_hostname(struct run_options *o, const char *value, struct err *e)
{
	(void)e; /* policy_check() judges the value */
	return set_text(&o->policy->hostname, value);
}

static int take_label(struct run_options *o, const char *value, struct err *e)
{
	return label_add(&o->policy->labels, value, e);
}

static int take_name(struct run_options *o, const char *value, struct err *e)
{
	return registry_check_name(value, e) < 0 ? err_in(e, "--name")
						 : set_text(&o->policy->name, value);
}

static int take_network(struct run_options *o, const char *value, struct err *e)
{
	return policy_take_network(o->policy, value, e);
}

static int take_allow(struct run_options *o, const char *value, struct err *e)
{
	return egress_policy_add(o->policy, EGRESS_ALLOW, value, e);
}

static int take_deny(struct run_options *o, const char *value, struct err *e)
{
	return egress_policy_add(o->policy, EGRESS_DENY, value, e);
}

static int take_ask(struct run_options *o, const char *value, struct err *e)
{
	return egress_policy_add(o->policy, EGRESS_ASK, value, e);
}

static int take_add_host(struct run_options *o, const char *value, struct err *e)
{
	return extra_host_add(o->policy, value, e);
}

static int take_join(struct run_options *o, const char *value, struct err *e)
{
	return egress_policy_join(o->policy, value, e);
}

static int take_publish(struct run_options *o, const char *value, struct err *e)
{
	return port_spec_add(o->policy, value, e);
}

static int take_isolation(struct run_options *o, const char *value, struct err *e)
{
	return isolation_parse(o->policy, value, e);
}

static int take_landlock(struct run_options *o, const char *value, struct err *e)
{
	return isolation_parse_landlock(o->policy, value, e);
}

static int take_idmap(struct run_options *o, const char *value, struct err *e)
{
	if (!strcmp(value, "single"))
		o->policy->idmap = IDMAP_SINGLE;
	else if (!strcmp(value, "ranges"))
		o->policy->idmap = IDMAP_RANGES;
	else
		return err_set(e, ERR_USAGE,
			       "--idmap takes single or ranges, not '%.60s'", value);
	return 0;
}

static int take_ulimit(struct run_options *o, const char *value, struct err *e)
{
	return units_parse_ulimit(o->policy, value, e);
}

static int take_ttl(struct run_options *o, const char *value, struct err *e)
{
	return units_parse_duration(value, &o->ttl_ms, e) < 0 ? err_in(e, "--ttl") : 0;
}

static int take_idle_timeout(struct run_options *o, const char *value, struct err *e)
{
	return units_parse_duration(value, &o->idle_ms, e) < 0
		       ? err_in(e, "--idle-timeout")
		       : 0;
}

/* the shortest interval between samples: shorter ones would load the machine by
 * themselves */
#define SAMPLE_MIN_MS 100

static int take_sample(struct run_options *o, const char *value, struct err *e)
{
	uint64_t ms;

	if (units_parse_duration(value, &ms, e) < 0)
		return err_in(e, "--sample");
	if (ms < SAMPLE_MIN_MS)
		return err_set(e, ERR_USAGE, "--sample takes 100ms or more, not '%.60s'",
			       value);
	o->sample_ms = ms;
	return 0;
}

static int take_timeout(struct run_options *o, const char *value, struct err *e)
{
	return units_parse_duration(value, &o->policy->timeout_ms, e) < 0
		       ? err_in(e, "--timeout")
		       : 0;
}

static int take_memory(struct run_options *o, const char *value, struct err *e)
{
	return units_parse_memory(value, &o->policy->limits.memory, e);
}

static int take_cpus(struct run_options *o, const char *value, struct err *e)
{
	return units_parse_cpus(value, &o->policy->limits.cpus, e) < 0
		       ? err_in(e, "--cpus")
		       : 0;
}

static int take_pids(struct run_options *o, const char *value, struct err *e)
{
	return units_parse_pids(value, &o->policy->limits.pids, e);
}

static int take_disk(struct run_options *o, const char *value, struct err *e)
{
	uint64_t bytes;

	if (units_parse_bytes(value, &bytes, e) < 0)
		return err_in(e, "--disk");
	/* A disk of less than 1 MiB is refused: a tmpfs of a few pages cannot hold the
	 * root folder. */
	if (bytes < 1u << 20 || bytes > INT64_MAX)
		return err_set(e, ERR_USAGE, "--disk takes 1m or more, not '%.60s'",
			       value);
	o->policy->limits.disk = bytes;
	return 0;
}

static int take_cgroup_parent(struct run_options *o, const char *value, struct err *e)
{
	if (!*value)
		return err_set(e, ERR_USAGE, "--cgroup-parent names no folder");
	return set_text(&o->policy->cgroup_parent, value);
}

static int take_best_effort(struct run_options *o, const char *value, struct err *e)
{
	(void)value, (void)e;
	o->policy->is_best_effort = true;
	return 0;
}

static int take_seccomp(struct run_options *o, const char *value, struct err *e)
{
	(void)e; /* the launch opens the profile, and reports an error then */
	return set_text(&o->policy->seccomp, value);
}

static int take_cap_add(struct run_options *o, const char *value, struct err *e)
{
	if (!strcasecmp(value, "all"))
		return err_set(e, ERR_USAGE,
			       "--cap-add ALL is refused; name what is needed");
	int number = caps_parse(value, e);
	if (number < 0)
		return err_in(e, "--cap-add");
	o->policy->cap_add |= 1ull << number;
	return 0;
}

static int take_cap_drop(struct run_options *o, const char *value, struct err *e)
{
	if (!strcasecmp(value, "all")) {
		o->policy->drops_all_caps = true;
		return 0;
	}
	int number = caps_parse(value, e);
	if (number < 0)
		return err_in(e, "--cap-drop");
	o->policy->cap_drop |= 1ull << number;
	return 0;
}

static int take_stdio(struct run_options *o, const char *value, struct err *e)
{
	if (strcmp(value, "inherit"))
		return err_set(e, ERR_USAGE, "--stdio takes inherit, not '%.60s'", value);
	o->policy->inherits_stdio = true;
	return 0;
}

static int take_json(struct run_options *o, const char *value, struct err *e)
{
	int fd = 2;

	if (value && fd_flag_fd("--json", value, &fd, e) < 0)
		return -1;
	o->json_fd = fd; /* json_fd stays -1 after a failure: no result object is
			  * written */
	return 0;
}

static int take_lease(struct run_options *o, const char *value, struct err *e)
{
	int fd, domain, type;
	socklen_t len = sizeof(int);

	if (fd_flag_fd("--lease", value, &fd, e) < 0)
		return -1;
	if (fd <= 2 || getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) < 0 ||
	    domain != AF_UNIX || type != SOCK_STREAM) {
		(void)err_set(e, ERR_USAGE,
			      "--lease %d: that descriptor is no unix stream "
			      "socket",
			      fd);
		return err_remedy(e, "hand over one end of a socketpair(2), above 2");
	}
	o->lease_fd = fd;
	return 0;
}

static int take_interactive(struct run_options *o, const char *value, struct err *e)
{
	(void)value, (void)e;
	o->policy->is_interactive = true;
	return 0;
}

static int take_mcp(struct run_options *o, const char *value, struct err *e)
{
	o->policy->is_server = true;
	return take_interactive(o, value, e);
}

static int take_tty(struct run_options *o, const char *value, struct err *e)
{
	(void)value, (void)e;
	o->policy->has_terminal = true;
	return 0;
}

static int take_read_only(struct run_options *o, const char *value, struct err *e)
{
	(void)value, (void)e;
	o->policy->is_read_only = true;
	return 0;
}

static int take_nesting(struct run_options *o, const char *value, struct err *e)
{
	(void)value, (void)e;
	o->policy->is_nesting = true;
	return 0;
}

static int take_dry_run(struct run_options *o, const char *value, struct err *e)
{
	(void)value, (void)e;
	o->is_dry_run = true;
	return 0;
}

static int take_learn(struct run_options *o, const char *value, struct err *e)
{
	if (!*value)
		return err_set(e, ERR_USAGE, "--learn names no file");
	return set_text(&o->learn, value);
}

/* Takes --rm.  A sandbox of `hutch run` is always removed. */
static int take_rm(struct run_options *o, const char *value, struct err *e)
{
	(void)value, (void)e;
	o->leaves_nothing = true;
	return 0;
}

static int take_main(struct run_options *o, const char *value, struct err *e)
{
	(void)value, (void)e;
	o->has_main = true;
	return 0;
}

static int take_restart(struct run_options *o, const char *value, struct err *e)
{
	return restart_rule_parse(value, &o->restart, e);
}

static int take_stop_signal(struct run_options *o, const char *value, struct err *e)
{
	o->stop_signal = signal_name_parse(value);
	return o->stop_signal
		       ? 0
		       : err_set(e, ERR_USAGE,
				 "--stop-signal takes a signal, such as TERM, SIGINT or "
				 "15, not '%.60s'",
				 value);
}

/* in seconds: a day */
#define STOP_TIMEOUT_MAX 86400

static int take_stop_timeout(struct run_options *o, const char *value, struct err *e)
{
	uint64_t seconds;

	if (units_parse_number(value, &seconds, e) < 0) {
		(void)err_remedy(e, "it is in seconds: --stop-timeout 30");
		return err_in(e, "--stop-timeout");
	}
	if (seconds > STOP_TIMEOUT_MAX)
		return err_set(e, ERR_USAGE, "--stop-timeout takes at most %d seconds",
			       STOP_TIMEOUT_MAX);
	o->has_stop_timeout = true;
	o->stop_timeout_ms = 1000 * seconds;
	return 0;
}

static int take_stream(struct run_options *o, const char *value, struct err *e)
{
	(void)value, (void)e;
	o->streams = true;
	return 0;
}

static int take_confirm(struct run_options *o, const char *value, struct err *e)
{
	(void)value, (void)e;
	o->confirms = true;
	return 0;
}

static int take_rule(struct run_options *o, const char *value, struct err *e)
{
	if (rules_check(value, e) < 0)
		return err_in(e, "--rule %.100s", value);
	if (o->policy->rules.count == RULES_MAX)
		return err_set(e, ERR_LIMIT, "--rule: %d rules are the most", RULES_MAX);
	list_add(&o->policy->rules, value);
	return 0;
}

static int take_plugin(struct run_options *o, const char *value, struct err *e)
{
	if (!*value)
		return err_set(e, ERR_USAGE, "--plugin: a name or a folder was expected");
	list_add(&o->policy->plugins, value);
	return 0;
}

static int take_audit(struct run_options *o, const char *value, struct err *e)
{
	return audit_check(value, e) < 0 ? -1 : set_text(&o->policy->audit, value);
}

static int take_lint(struct run_options *o, const char *value, struct err *e)
{
	(void)value, (void)e;
	o->policy->lints = true;
	return 0;
}

static int take_detach(struct run_options *o, const char *value, struct err *e)
{
	(void)value, (void)e;
	o->detaches = true;
	return 0;
}

static int take_quiet(struct run_options *o, const char *value, struct err *e)
{
	(void)o, (void)value;
	return note_silence() < 0 ? err_sys(e, "--quiet") : 0;
}

static int take_help(struct run_options *o, const char *value, struct err *e)
{
	(void)value, (void)e;
	o->wants_help = true;
	return 0;
}

const struct option option_table[] = {
	{ 0, "policy", "FILE|NAME", take_policy, "a policy: man hutch-policy" },
	{ 0, "image", "REF", take_image, "host (default), a reference, or dir:PATH" },
	{ 0, "pull", "WHEN", take_pull, "fetch it: missing (default), always, never" },
	{ 0, "entrypoint", "CMD", take_entrypoint, "in place of the image's" },
	{ 0, "upper", "DIR", take_upper, "keep files written over the image in DIR" },
	{ 0, "keep", NULL, take_keep, "it can be started again, with its files" },
	{ 0, "main", NULL, take_main, "run the image's command, and end with it" },
	{ 0, "restart", "RULE", take_restart,
	  "start it again: no, on-failure[:N], always" },
	{ 0, "stop-signal", "SIGNAL", take_stop_signal,
	  "by which hutch stop asks it to end" },
	{ 0, "stop-timeout", "SECONDS", take_stop_timeout,
	  "how long it has to end then (default 10)" },
	{ 'v', "volume", "SRC:DST[:ro|rw|cow]", take_volume,
	  "show a folder or file of the host" },
	{ 0, "workspace", "DIR[:ro|rw|cow]", take_workspace, "show DIR at /workspace" },
	{ 0, "name", "NAME", take_name, "name of the changes kept of :cow folders" },
	{ 0, "protect", "PATTERN", take_protect,
	  "names in folders that stay as they are" },
	{ 0, "protect-missing", NULL, take_protect_missing,
	  "also those that are not there yet" },
	{ 0, "toolchain", "DIR", take_toolchain, "show DIR read-only at its own path" },
	{ 0, "tmpfs", "DST[:size=N]", take_tmpfs, "an empty writable folder" },
	{ 0, "read-only", NULL, take_read_only, "only named folders are writable" },
	{ 'e', "env", "KEY[=VALUE]", take_env,
	  "set a variable, or pass the caller's on" },
	{ 0, "env-file", "FILE", take_env_file, "variables from a file" },
	{ 0, "secret", "KEY[=VALUE]", take_secret, "a variable whose value is redacted" },
	{ 0, "secret-file", "FILE", take_secret_file, "such variables from a file" },
	{ 'w', "workdir", "DIR", take_workdir, "working directory (default /workspace)" },
	{ 'u', "user", "USER", take_user, "agent, root, UID[:GID], or NAME=UID" },
	{ 0, "hostname", "NAME", take_hostname, "(default hutch)" },
	{ 0, "label", "KEY=VALUE", take_label, "a label, by which hutch ps finds it" },
	{ 'i', "interactive", NULL, take_interactive, "pass stdin on" },
	{ 't', "tty", NULL, take_tty, "a terminal of the sandbox's own" },
	{ 'd', "detach", NULL, take_detach, "do not wait for it; print its number" },
	{ 0, "stdio", "inherit", take_stdio,
	  "hand stdin, stdout, stderr over as they are" },
	{ 0, "mcp", NULL, take_mcp, "the command is a server of MCP" },
	{ 0, "network", "MODE", take_network, "none (default), allow, host or ns:PATH" },
	{ 0, "allow", "HOST[:PORT]", take_allow, "a host to connect to: man hutch-net" },
	{ 0, "deny", "HOST[=WHY]", take_deny, "an exception of a later --allow" },
	{ 0, "ask", "HOST[:PORT]", take_ask, "a host to be asked about" },
	{ 0, "add-host", "NAME:ADDRESS", take_add_host,
	  "a name inside, also NAME:host-gateway" },
	{ 0, "network-join", "NETWORK[:PORT]", take_join,
	  "reach sandboxes of a network by name" },
	{ 'p', "publish", "HOST:GUEST", take_publish,
	  "a port of the host that leads inside" },
	{ 0, "isolation", "MODE", take_isolation,
	  "auto (default), namespaces or landlock" },
	{ 0, "landlock", "auto|on|off", take_landlock,
	  "a second wall around the root's files" },
	{ 0, "idmap", "MODE", take_idmap, "single (default) or ranges" },
	{ 0, "cap-add", "CAP", take_cap_add, "give commands a capability" },
	{ 0, "cap-drop", "CAP", take_cap_drop, "take one away, or ALL" },
	{ 0, "nesting", NULL, take_nesting, "let commands make namespaces of their own" },
	{ 0, "seccomp", "FILE", take_seccomp,
	  "a filter profile in OCI's or docker's JSON" },
	{ 'm', "memory", "SIZE", take_memory,
	  "memory of everything inside, such as 512m" },
	{ 0, "cpus", "NUMBER", take_cpus, "CPU time in CPUs, such as 1.5" },
	{ 0, "pids-limit", "N", take_pids, "processes and threads" },
	{ 0, "disk", "SIZE", take_disk, "limit of bytes in private folders" },
	{ 0, "cgroup-parent", "DIR", take_cgroup_parent,
	  "the cgroup to make the sandbox's in" },
	{ 0, "best-effort", NULL, take_best_effort,
	  "weaker limits where there is no cgroup" },
	{ 0, "ulimit", "NAME=SOFT[:HARD]", take_ulimit, "a resource limit" },
	{ 0, "timeout", "DURATION", take_timeout,
	  "end everything after it; exit code 124" },
	{ 0, "ttl", "DURATION", take_ttl, "end the sandbox after it" },
	{ 0, "idle-timeout", "DURATION", take_idle_timeout,
	  "end the sandbox when unused for so long" },
	{ 0, "sample", "DURATION", take_sample,
	  "how often to report use: man hutch-create" },
	{ 0, "audit", "on|off|DIR", take_audit, "keep an audit log: man hutch-audit" },
	{ 0, "json", "[FD]", take_json, "the result as an object of JSON, on FD" },
	{ 0, "lease", "FD", take_lease, "end with that connection: man hutch-create" },
	{ 0, "learn", "FILE", take_learn, "write the policy it would need into FILE" },
	{ 0, "dry-run", NULL, take_dry_run, "print the plan and run nothing" },
	{ 0, "stream", NULL, take_stream, "events of output as it comes, too" },
	{ 0, "plugin", "NAME|DIR", take_plugin,
	  "a program inside for actions: man hutch-act" },
	{ 0, "rule", "JSON", take_rule, "a rule for actions: man hutch-policy" },
	{ 0, "confirm", NULL, take_confirm, "ask the client about actions" },
	{ 0, "lint", NULL, take_lint, "add messages of the rootfs' linter to edits" },
	{ 0, "rm", NULL, take_rm, "leave nothing; hutch run never does" },
	{ 'q', "quiet", NULL, take_quiet, "no notes of hutch's on stderr" },
	{ 'h', "help", NULL, take_help, "this text" },
};
const size_t option_count = ARRAY_LEN(option_table);

bool option_is_early(const struct option *o)
{
	return o->take == take_policy || o->take == take_json || o->take == take_quiet;
}
