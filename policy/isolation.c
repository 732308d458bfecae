#include "policy/isolation.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "policy/policy.h"

int isolation_parse_landlock(struct policy *p, const char *word, struct err *e)
{
	if (!strcmp(word, "auto"))
		p->landlock_root = LANDLOCK_ROOT_AUTO;
	else if (!strcmp(word, "on"))
		p->landlock_root = LANDLOCK_ROOT_ON;
	else if (!strcmp(word, "off"))
		p->landlock_root = LANDLOCK_ROOT_OFF;
	else
		return err_set(e, ERR_USAGE,
			       "--landlock takes auto, on or off, not '%.60s'", word);
	return 0;
}

int isolation_parse(struct policy *p, const char *word, struct err *e)
{
	static const char *const names[] = { [ISOLATION_AUTO] = "auto",
					     [ISOLATION_NAMESPACES] = "namespaces",
					     [ISOLATION_LANDLOCK] = "landlock" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strcmp(word, names[i]) != 0)
			continue;
		p->isolation = (enum isolation)i;
		return 0;
	}
	return err_set(e, ERR_USAGE,
		       "--isolation takes auto, namespaces or landlock, not '%.60s'",
		       word);
}

static int needs_namespaces(const char *what, const char *from, struct err *e)
{
	(void)err_set(e, ERR_UNSUPPORTED,
		      "%s needs namespaces, which --isolation landlock does "
		      "without",
		      what);
	(void)err_from(e, from);
	return err_remedy(e, "leave it out, or leave --isolation landlock out");
}

/* Landlock rules only add rights to a folder and everything in it; a rule cannot except
 * a path in that folder. */
static bool has_writable(const struct policy *p)
{
	for (size_t i = 0; i < p->volume_count; i++)
		if (p->volumes[i].is_writable)
			return true;
	return false;
}

static int check_volume(const struct volume *v, struct err *e)
{
	if (v->kind == VOLUME_TMPFS)
		return needs_namespaces("--tmpfs", v->from, e);
	return v->is_cow ? needs_namespaces(":cow", v->from, e) : 0;
}

int isolation_check(const struct policy *p, struct err *e)
{
	const struct {
		bool is_asked;
		const char *flag;
	} beyond[] = {
		{ p->image != IMAGE_HOST, "--image" },
		{ p->user != NULL, "-u" },
		{ p->hostname != NULL, "--hostname" },
		{ p->has_terminal, "-t" },
		{ p->is_read_only, "--read-only" },
		{ p->idmap != IDMAP_SINGLE, "--idmap ranges" },
		{ p->cap_add != 0, "--cap-add" },
		{ p->is_nesting, "--nesting" },
		{ p->landlock_root != LANDLOCK_ROOT_AUTO, "--landlock" },
		{ p->limits.memory != 0, "--memory" },
		{ p->limits.cpus != 0, "--cpus" },
		{ p->limits.pids != 0, "--pids-limit" },
		{ p->limits.disk != 0, "--disk" },
		{ p->cgroup_parent != NULL, "--cgroup-parent" },
		{ p->publish_count != 0, "-p" },
		{ p->network == NETWORK_ALLOW, "--network allow" },
		{ p->network == NETWORK_NS, "--network ns:" },
		{ p->add_hosts.count != 0, "--add-host" },
		{ p->protects.count && has_writable(p), "--protect" },
	};

	if (p->isolation != ISOLATION_LANDLOCK)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(beyond); i++)
		if (beyond[i].is_asked)
			return needs_namespaces(beyond[i].flag, NULL, e);
	for (size_t i = 0; i < p->volume_count; i++)
		if (check_volume(&p->volumes[i], e) < 0)
			return -1;
	if (!p->audit || !strcmp(p->audit, "off"))
		return 0;
	/* Nothing in the kernel forbids an audit log with Landlock; hutch does not
	 * implement it. */
	(void)err_set(e, ERR_UNSUPPORTED,
		      "--audit is not there for --isolation landlock");
	return err_remedy(e, "--audit off, or leave --isolation landlock out");
}
