#include "policy/policy.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/redact.h"
#include "policy/egress_policy.h"
#include "policy/environment.h"
#include "policy/extra_host.h"
#include "policy/isolation.h"
#include "policy/named_user.h"
#include "policy/port_spec.h"
#include "policy/units.h"

#define HOSTNAME_MAX_LEN 63
#define ID_MAX		 65535
#define NETNS_PREFIX	 "ns:"

void policy_init(struct policy *p)
{
	*p = (struct policy){ .image = IMAGE_HOST, .network = NETWORK_NONE };
}

static void volume_done(struct volume *v)
{
	free(v->source);
	free(v->target);
	free(v->from);
}

const char *policy_network_word(const struct policy *p)
{
	static const char *const words[] = { [NETWORK_NONE] = "none",
					     [NETWORK_HOST] = "host",
					     [NETWORK_ALLOW] = "allow" };

	return p->network == NETWORK_NS ? p->netns : words[p->network];
}

const char *policy_netns_path(const struct policy *p)
{
	return p->netns + strlen(NETNS_PREFIX);
}

bool policy_shares_network(const struct policy *p)
{
	return p->network == NETWORK_HOST || p->network == NETWORK_NS;
}

static int take_netns(struct policy *p, const char *word, struct err *e)
{
	if (!word[strlen(NETNS_PREFIX)]) {
		(void)err_set(e, ERR_USAGE, "--network ns: names no file");
		return err_remedy(e, "a network namespace is a file, such as that of ip "
				     "netns add x: --network ns:/run/netns/x");
	}
	free(p->netns);
	p->netns = text_copy(word);
	p->network = NETWORK_NS;
	return 0;
}

static int bad_network(const char *word, struct err *e)
{
	(void)err_set(e, ERR_USAGE,
		      "--network takes none, allow, host or ns:PATH, not '%.60s'", word);
	return err_remedy(e,
			  "--allow HOST reaches one host by its name; --network host is "
			  "the network of this machine");
}

int policy_take_network(struct policy *p, const char *word, struct err *e)
{
	if (!strncmp(word, NETNS_PREFIX, strlen(NETNS_PREFIX)))
		return take_netns(p, word, e);
	if (!strcmp(word, "none"))
		p->network = NETWORK_NONE;
	else if (!strcmp(word, "host"))
		p->network = NETWORK_HOST;
	else if (!strcmp(word, "allow"))
		p->network = NETWORK_ALLOW;
	else
		return bad_network(word, e);
	return 0;
}

void policy_done(struct policy *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->volume_count; i++)
		volume_done(&p->volumes[i]);
	for (size_t i = 0; i < p->ulimit_count; i++)
		free(p->ulimits[i].from);
	for (size_t i = 0; i < p->publish_count; i++)
		port_spec_done(&p->publishes[i]);
	free(p->publishes);
	free(p->volumes);
	free(p->image_path);
	free(p->netns);
	free(p->upper);
	free(p->entrypoint);
	free(p->workdir);
	free(p->user);
	free(p->hostname);
	free(p->seccomp);
	free(p->name);
	free(p->audit);
	free(p->cgroup_parent);
	list_done(&p->env_set);
	list_done(&p->secrets);
	list_done(&p->argv);
	list_done(&p->rules);
	list_done(&p->egress);
	egress_rules_done(&p->egress_rules);
	list_done(&p->add_hosts);
	list_done(&p->labels);
	list_done(&p->plugins);
	plugin_uses_done(&p->plugin_uses);
	list_done(&p->joins);
	list_done(&p->protects);
	policy_init(p);
}

struct volume *policy_add_volume(struct policy *p, enum volume_kind kind,
				 const char *from)
{
	if (p->volume_count == p->volume_room) {
		p->volume_room = p->volume_room ? p->volume_room * 2 : 8;
		p->volumes = mem_resize(p->volumes, p->volume_room, sizeof(*p->volumes));
	}
	struct volume *v = &p->volumes[p->volume_count++];
	*v = (struct volume){ .kind = kind, .from = text_copy(from) };
	return v;
}

static bool is_named_later(const struct policy *p, size_t i, size_t count)
{
	for (size_t j = count; j < p->volume_count; j++)
		if (!strcmp(p->volumes[j].target, p->volumes[i].target))
			return true;
	return false;
}

void policy_prefer(struct policy *p, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->volume_count; i++) {
		if (i < count && is_named_later(p, i, count))
			volume_done(&p->volumes[i]);
		else
			p->volumes[kept++] = p->volumes[i];
	}
	p->volume_count = kept;
}

const char *policy_own_place(const char *target)
{
	static const char *const ours[] = { "/proc", "/sys", "/dev/pts", "/dev/shm" };

	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		if (path_below(target, ours[i]))
			return ours[i];
	return NULL;
}

static int check_target(const struct volume *v, struct err *e)
{
	const char *own = policy_own_place(v->target);

	if (!strcmp(v->target, "/") || !strcmp(v->target, "/dev")) {
		(void)err_set(e, ERR_USAGE, "nothing can be mounted at %s; use --image "
					    "dir:PATH for another root", v->target);
		return err_from(e, v->from);
	}
	if (!own)
		return 0;
	(void)err_set(e, ERR_USAGE,
		      "nothing can be mounted at %.200s: %s is the sandbox's own",
		      v->target, own);
	return err_from(e, v->from);
}

static int by_target(const void *a, const void *b)
{
	const struct volume *const *x = a, *const *y = b;

	return strcmp((*x)->target, (*y)->target);
}

/* Sorting brings duplicates together; comparing each pair of a thousand mounts would be
 * slow. */
static int check_duplicates(const struct policy *p, struct err *e)
{
	AUTO_FREE const struct volume **sorted =
		mem_zeroed(p->volume_count + 1, sizeof(*sorted));
	for (size_t i = 0; i < p->volume_count; i++)
		sorted[i] = &p->volumes[i];
	qsort(sorted, p->volume_count, sizeof(*sorted), by_target);
	for (size_t i = 1; i < p->volume_count; i++) {
		if (strcmp(sorted[i - 1]->target, sorted[i]->target))
			continue;
		return err_set(e, ERR_USAGE,
			       "two mounts at %.200s (from %.200s and %.200s)",
			       sorted[i]->target, sorted[i - 1]->from, sorted[i]->from);
	}
	return 0;
}

int policy_check_hostname(const char *name, struct err *e)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.";
	size_t len = strlen(name);

	if (len == 0 || len > HOSTNAME_MAX_LEN || strspn(name, allowed) != len ||
	    strchr("-.", name[0]) || strchr("-.", name[len - 1]))
		return err_set(e, ERR_USAGE,
			       "--hostname takes 1 to %d letters, digits, dots and inner "
			       "hyphens", HOSTNAME_MAX_LEN);
	return 0;
}

/* Refuses capabilities.  SYS_PTRACE and SYS_ADMIN would give access to the executor
 * (pid 1), SYS_NICE would let commands change its scheduling, and SYS_RESOURCE would
 * let them raise the limits on per-user kernel resources (plan_rlimits.h). */
static int check_caps(const struct policy *p, struct err *e)
{
	static const struct {
		int number;
		const char *name;
	} refused[] = { { 19, "SYS_PTRACE" }, { 21, "SYS_ADMIN" },
			{ 23, "SYS_NICE" }, { 24, "SYS_RESOURCE" } };

	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		if (p->cap_add & (1ull << refused[i].number))
			return err_set(
				e, ERR_USAGE,
				"--cap-add %s is refused: it would let commands reach "
				"the sandbox's own init",
				refused[i].name);
	return 0;
}

static int check_terminal(const struct policy *p, struct err *e)
{
	if (p->has_terminal && p->inherits_stdio)
		return err_set(e, ERR_USAGE,
			       "-t makes a terminal of the sandbox's own and "
			       "--stdio inherit hands over the caller's; choose one");
	return 0;
}

static int check_command(const struct policy *p, struct err *e)
{
	if (p->takes_actions && p->argv.count > 0) {
		(void)err_set(e, ERR_USAGE, "hutch act takes no command, but got '%.60s'",
			      p->argv.items[0]);
		return err_remedy(
			e, "actions come on its stdin, one JSON object a line; in a "
			   "sandbox that has a name: hutch act NAME [--stream]");
	}
	if (p->entrypoint && *p->entrypoint && p->image != IMAGE_STORE)
		return err_set(e, ERR_USAGE,
			       "--entrypoint is for an image that has one, of the "
			       "store");
	/* An image of the store may name a default command in its configuration. */
	if (p->takes_actions || (p->image == IMAGE_STORE && p->argv.count == 0))
		return 0;
	if (p->argv.count == 0) {
		(void)err_set(e, ERR_USAGE, "no command given");
		return err_remedy(e, "for a shell: hutch run -it bash");
	}
	if (!*p->argv.items[0])
		return err_set(e, ERR_USAGE, "the command is an empty word");
	return 0;
}

/* Refuses a disk limit if a writable volume is on the host's disk: setting a quota
 * there takes privilege. */
static int check_disk(const struct policy *p, struct err *e)
{
	for (size_t i = 0; p->limits.disk && !p->is_best_effort && i < p->volume_count;
	     i++) {
		const struct volume *v = &p->volumes[i];
		if (v->kind == VOLUME_TMPFS || !v->is_writable)
			continue;
		(void)err_set(e, ERR_UNSUPPORTED,
			      "--disk cannot bound what is written to %.200s, %s",
			      v->target,
			      v->is_cow ? "which is kept on this host's disk"
					: "a folder of this host");
		(void)err_from(e, v->from);
		return err_remedy(
			e, "show it with :ro, or add --best-effort, which leaves it "
			   "without a bound");
	}
	return 0;
}

/* Checks that --keep and --upper have an image with a writable upper layer. */
static int check_upper(const struct policy *p, struct err *e)
{
	const char *flag = p->keeps ? "--keep" : "--upper";

	if (!p->upper && !p->keeps)
		return 0;
	if (p->image == IMAGE_HOST) {
		(void)err_set(e, ERR_USAGE,
			      "%s keeps what is written over an image, and "
			      "the host's own /usr is not written over",
			      flag);
		return err_remedy(e, "add --image");
	}
	if (p->is_read_only)
		return err_set(e, ERR_USAGE,
			       "%s keeps what is written, and --read-only has "
			       "nothing written; choose one",
			       flag);
	if (p->idmap == IDMAP_RANGES)
		return err_set(e, ERR_UNSUPPORTED, "%s is for one mapped id: you could "
						   "not remove files of other ids", flag);
	return 0;
}

/* With dir:PATH:rw no layer of the sandbox's own lies over the image. */
static int check_writable_image(const struct policy *p, struct err *e)
{
	const char *flag = p->keeps				  ? "--keep"
			   : p->upper				  ? "--upper"
			   : p->is_read_only			  ? "--read-only"
			   : p->limits.disk && !p->is_best_effort ? "--disk"
			   : p->protects_missing		  ? "--protect-missing"
			   : p->idmap == IDMAP_RANGES		  ? "--idmap ranges"
								  : NULL;

	if (!p->is_image_writable || !flag)
		return 0;
	(void)err_set(e, ERR_USAGE,
		      "%s and --image dir:PATH:rw exclude each other: what is written is "
		      "in that folder itself",
		      flag);
	return err_remedy(e, "--image dir:%.200s keeps writes apart from the folder",
			  p->image_path);
}

/* --protect-missing has a process of hutch create files for the commands.  That process
 * has only one id, so it could not create files for the other ids of --idmap ranges. */
static int check_missing(const struct policy *p, struct err *e)
{
	if (!p->protects_missing)
		return 0;
	if (!p->protects.count) {
		(void)err_set(e, ERR_USAGE,
			      "--protect-missing says nothing without --protect");
		return err_remedy(
			e, "add --protect PATTERN, or --policy agent, which has some");
	}
	if (p->idmap == IDMAP_RANGES) {
		(void)err_set(e, ERR_UNSUPPORTED,
			      "--protect-missing is for one mapped id, and not "
			      "for --idmap ranges");
		return err_remedy(
			e, "show the folder with :cow, where apply protects every name");
	}
	return 0;
}

/* Two walls cannot stand where commands mount: Landlock refuses every mount, and the
 * process that makes names for --protect-missing does not see mounts of others. */
static int check_nesting(const struct policy *p, struct err *e)
{
	const char *flag = p->landlock_root == LANDLOCK_ROOT_ON ? "--landlock on"
			   : p->protects_missing		? "--protect-missing"
								: NULL;

	if (!p->is_nesting || !flag)
		return 0;
	(void)err_set(
		e, ERR_USAGE,
		"--nesting and %s exclude each other: commands that mount would get "
		"round it",
		flag);
	return err_remedy(e, "leave one of them out");
}

/* Checks that --name has changes to name. */
static int check_name(const struct policy *p, struct err *e)
{
	bool has_cow = !p->name;

	for (size_t i = 0; !has_cow && i < p->volume_count; i++)
		has_cow = p->volumes[i].is_cow;
	if (has_cow)
		return 0;
	(void)err_set(e, ERR_USAGE,
		      "--name names the changes that are kept of folders shown with "
		      ":cow, and there is no such folder");
	return err_remedy(e,
			  "hutch create %s makes a sandbox that has the name and lives "
			  "on",
			  p->name);
}

bool policy_wants_cgroup(const struct policy *p)
{
	return p->limits.memory || p->limits.pids || p->limits.cpus || p->cgroup_parent;
}

/* Checks that the redactor has room for all secrets. */
static int check_secrets(const struct policy *p, struct err *e)
{
	struct redact m = { 0 };
	int added = environment_mask(p, &m, e);

	redact_done(&m);
	return added < 0 ? err_in(e, "--secret") : 0;
}

/* The user of a store's image is looked up later, in the image. */
static int check_user(const struct policy *p, struct err *e)
{
	const bool is_named = p->user && named_user_is(p->user);
	uint32_t uid, gid;

	if ((policy_has_image_user(p) && !is_named) || policy_user(p, &uid, &gid, e) == 0)
		return 0;
	if (is_named)
		return -1;
	return err_remedy(e,
			  "a name is one of the sandbox's own /etc/passwd or "
			  "/etc/group, not of this host's; NAME=UID, such as bob=1001, "
			  "adds a user");
}

int policy_check(const struct policy *p, struct err *e)
{
	for (size_t i = 0; i < p->volume_count; i++)
		if (check_target(&p->volumes[i], e) < 0)
			return -1;
	if (check_duplicates(p, e) < 0 || check_caps(p, e) < 0 ||
	    check_writable_image(p, e) < 0 || check_upper(p, e) < 0 ||
	    check_terminal(p, e) < 0 || check_disk(p, e) < 0 || check_missing(p, e) < 0 ||
	    check_nesting(p, e) < 0 || check_name(p, e) < 0 || check_user(p, e) < 0)
		return -1;
	if (p->hostname && policy_check_hostname(p->hostname, e) < 0)
		return -1;
	if (isolation_check(p, e) < 0 || port_spec_check(p, e) < 0 ||
	    egress_policy_check(p, e) < 0 || extra_host_check(p, e) < 0)
		return -1;
	return check_command(p, e) < 0 ? -1 : check_secrets(p, e);
}

bool policy_has_image_user(const struct policy *p)
{
	return p->image == IMAGE_STORE || (p->image == IMAGE_DIR && p->user);
}

struct id_name {
	const char *name;
	uint32_t id;
	bool is_hosts; /* the name exists only in the /etc that hutch makes if no image
			* is given */
};

/* The names that hutch writes into the sandbox's /etc/passwd and /etc/group. */
static const struct id_name user_names[] = {
	{ "root", 0, false }, { "agent", 1000, false }, { "nobody", 65534, true }, { 0 },
}, group_names[] = {
	{ "root", 0, false }, { "agent", 1000, false }, { "tty", 5, true },
	{ "nogroup", 65534, true }, { 0 },
};

static uint32_t max_id(const struct policy *p)
{
	return p->idmap == IDMAP_RANGES ? ID_MAX : INT32_MAX;
}

/* Parses a user or group: one of `names`, or a number. */
static int parse_id(const struct policy *p, const char *text, const struct id_name *names,
		    uint32_t *ret, struct err *e)
{
	const uint64_t max = max_id(p);
	uint64_t number;

	for (; names->name; names++) {
		if (strcmp(text, names->name) != 0 ||
		    (names->is_hosts && p->image != IMAGE_HOST))
			continue;
		*ret = names->id;
		return 0;
	}
	if (units_parse_number(text, &number, NULL) == 0 && number <= max) {
		*ret = (uint32_t)number;
		return 0;
	}
	(void)err_set(e, ERR_USAGE,
		      "-u takes agent, root or a number up to %u, not '%.60s'",
		      (unsigned)max, text);
	return err_remedy(
		e, "a name is one of the sandbox's own /etc/passwd or /etc/group, not of "
		   "this host's");
}

/* A name that hutch itself writes into the sandbox's /etc/passwd has one id, and so has
 * root in every image. */
static int check_own_name(const struct policy *p, const struct named_user *u,
			  struct err *e)
{
	const struct id_name *n = user_names;

	while (n->name && strcmp(u->name, n->name) != 0)
		n++;
	if (!n->name || (u->uid == n->id && u->gid == n->id) ||
	    (policy_has_image_user(p) && n != user_names)) /* the first is root */
		return 0;
	(void)err_set(e, ERR_USAGE, "-u %.80s: %s has the ids %u:%u inside", p->user,
		      n->name, n->id, n->id);
	return err_remedy(e, "leave the ids out, or name another user");
}

/* Decides the ids of NAME=UID[:GID]. */
static int parse_named(const struct policy *p, uint32_t *ret_uid, uint32_t *ret_gid,
		       struct err *e)
{
	struct named_user u;

	if (named_user_read(p->user, &u, e) < 0)
		return -1;
	if (check_own_name(p, &u, e) < 0)
		return -1;
	if (u.uid > max_id(p) || u.gid > max_id(p))
		return err_set(e, ERR_USAGE,
			       "-u %.80s: an id is up to %u with --idmap "
			       "ranges",
			       p->user, max_id(p));
	*ret_uid = u.uid;
	*ret_gid = u.gid;
	return 0;
}

bool policy_adds_user(const struct policy *p, struct named_user *ret)
{
	if (!p->user || !named_user_is(p->user) ||
	    named_user_read(p->user, ret, NULL) < 0)
		return false;
	for (const struct id_name *n = user_names; n->name; n++)
		if (!strcmp(ret->name, n->name))
			return false;
	return true;
}

int policy_user(const struct policy *p, uint32_t *ret_uid, uint32_t *ret_gid,
		struct err *e)
{
	uint32_t uid = p->image == IMAGE_HOST ? 1000 : 0, gid = uid;

	if (p->user && named_user_is(p->user))
		return parse_named(p, ret_uid, ret_gid, e);
	if (p->user) {
		AUTO_FREE char *name = text_copy(p->user);
		char *colon = strchr(name, ':');
		if (colon)
			*colon++ = '\0';
		if (parse_id(p, name, user_names, &uid, e) < 0)
			return -1;
		gid = uid;
		if (colon && parse_id(p, colon, group_names, &gid, e) < 0)
			return -1;
	}
	*ret_uid = uid;
	*ret_gid = gid;
	return 0;
}
