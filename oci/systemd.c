#include "oci/systemd.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "oci/resources.h"
#include "oci/sealed.h"
#include "oci/spaces.h"
#include "sandbox/cgroup/scope.h"

#define NAME_MAX_BYTES 255 /* of a unit (systemd.unit(5)) */

/* A rootless engine runs its runtime as root of a user namespace. */
static bool is_user(void)
{
	return geteuid() != 0 || spaces_in_userns();
}

static int check_name(const char *name, const char *end, struct err *e)
{
	const size_t len = strlen(name), tail = strlen(end);
	bool is_good = len > tail && len <= NAME_MAX_BYTES &&
		       !strcmp(name + len - tail, end);

	for (const char *c = name; *c && is_good; c++)
		is_good = isalnum((unsigned char)*c) || strchr(":-_.\\@", *c);
	return is_good ? 0
		       : err_set(e, ERR_USAGE,
				 "linux.cgroupsPath: '%.128s' is no name of a unit that "
				 "ends with %s",
				 name, end);
}

/* Splits "SLICE:PREFIX:NAME". */
static int split(const char *path, struct systemd_scope *s, struct err *e)
{
	const char *first = strchr(path, ':');
	const char *second = first ? strchr(first + 1, ':') : NULL;

	if (!second || strchr(second + 1, ':') || !second[1])
		return err_set(
			e, ERR_USAGE,
			"linux.cgroupsPath '%.200s': SLICE:PREFIX:NAME was expected "
			"with the systemd cgroup manager",
			path);
	const int prefix = (int)(second - first - 1);
	if (first > path)
		s->slice = text_format("%.*s", (int)(first - path), path);
	s->name = text_format("%.*s%s%s.scope", prefix, first + 1, prefix ? "-" : "",
			      second + 1);
	return 0;
}

int systemd_read(const char *path, const char *id, struct systemd_scope *ret,
		 struct err *e)
{
	struct systemd_scope s = { NULL, NULL };

	if (path && *path) {
		if (split(path, &s, e))
			return -1;
	} else {
		s.name = text_format("hutch-oci-%s.scope", id);
	}
	if (!s.slice)
		s.slice = text_copy(is_user() ? "user.slice" : "system.slice");
	if (check_name(s.slice, ".slice", e) || check_name(s.name, ".scope", e)) {
		systemd_done(&s);
		return -1;
	}
	*ret = s;
	return 0;
}

void systemd_done(struct systemd_scope *s)
{
	free(s->slice);
	free(s->name);
	*s = (struct systemd_scope){ NULL, NULL };
}

/* "QUOTA PERIOD" of cpu.max, in microseconds, is the time that processes get each second. */
static void add_quota(const char *text, struct list *ret)
{
	uint64_t quota, period;

	if (sscanf(text, "max %" SCNu64, &period) == 1)
		list_add(ret, "CPUQuotaPerSecUSec=infinity");
	else if (sscanf(text, "%" SCNu64 " %" SCNu64, &quota, &period) == 2 && period)
		list_addf(ret, "CPUQuotaPerSecUSec=%" PRIu64, quota * 1000000 / period);
	else
		return;
	list_addf(ret, "CPUQuotaPeriodUSec=%" PRIu64, period);
}

/* Tells whether a property may have this value.  The members of `unified` may have others,
 * such as "64M", which are written to the cgroup alone. */
static bool is_plain(const char *text)
{
	return !strcmp(text, "max") || (*text && !text[strspn(text, "0123456789,-")]);
}

void systemd_properties(const struct resources *r, struct list *ret)
{
	static const struct {
		const char *file, *property;
	} known[] = {
		{ "memory.max", "MemoryMax" },
		{ "memory.low", "MemoryLow" },
		{ "memory.swap.max", "MemorySwapMax" },
		{ "pids.max", "TasksMax" },
		{ "cpu.weight", "CPUWeight" },
		{ "io.weight", "IOWeight" },
		{ "cpuset.cpus", "AllowedCPUs" },
		{ "cpuset.mems", "AllowedMemoryNodes" },
	};

	for (size_t i = 0; i < r->count; i++) {
		const struct resources_write *w = &r->writes[i];
		if (w->file && !strcmp(w->file, "cpu.max"))
			add_quota(w->text, ret);
		for (size_t k = 0; w->file && k < ARRAY_LEN(known); k++)
			if (!strcmp(w->file, known[k].file) && is_plain(w->text))
				list_addf(ret, "%s=%s", known[k].property,
					  strcmp(w->text, "max") ? w->text : "infinity");
	}
}

/* Runs hutch-scope with the words `head` and the properties. */
static int ask(const char *const *head, const struct resources *r, struct err *e)
{
	struct scope_call c = { .is_user = is_user() };
	struct list words = { 0 };
	AUTO_FREE char *program = NULL;

	if (sealed_find("hutch-scope", &program, e))
		return -1;
	for (; *head; head++)
		list_add(&words, *head);
	if (r)
		systemd_properties(r, &words);
	c.program = program;
	c.words = (const char *const *)words.items;
	const int rc = scope_ask(&c, e);
	list_done(&words);
	return rc ? err_remedy(e, "or use the cgroupfs manager: podman --cgroup-manager "
				  "cgroupfs; SystemdCgroup = false of containerd")
		  : 0;
}

static const char *bus(void)
{
	return is_user() ? "user" : "system";
}

int systemd_start(const struct systemd_scope *s, const struct resources *r, pid_t pid,
		  struct err *e)
{
	AUTO_FREE char *number = text_format("%d", (int)pid);
	const char *const head[] = { "start", bus(), number, s->slice, s->name, NULL };

	return ask(head, r, e);
}

int systemd_update(const char *name, const struct resources *r, struct err *e)
{
	const char *const head[] = { "set", bus(), name, NULL };

	return ask(head, r, e);
}

int systemd_stop(const char *name, struct err *e)
{
	const char *const head[] = { "stop", bus(), name, NULL };

	return ask(head, NULL, e);
}
