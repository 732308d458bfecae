#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/err.h"
#include "base/own.h"
#include "oci/config.h"
#include "oci/fields.h"

static const char *const space_types[SPACE_COUNT] = {
	[SPACE_USER] = "user",	   [SPACE_PID] = "pid",	  [SPACE_NETWORK] = "network",
	[SPACE_IPC] = "ipc",	   [SPACE_UTS] = "uts",	  [SPACE_MOUNT] = "mount",
	[SPACE_CGROUP] = "cgroup", [SPACE_TIME] = "time",
};

static int read_space(const struct json_at *item, struct config *c, struct err *e)
{
	const char *type = "", *path = NULL;
	int i = 0;

	if (json_expect(item, JSON_OBJECT, e) || fields_text(item, "type", &type, e) ||
	    fields_text(item, "path", &path, e))
		return -1;
	while (i < SPACE_COUNT && strcmp(space_types[i], type) != 0)
		i++;
	if (i == SPACE_COUNT)
		return err_set(e, ERR_USAGE, "%s.type: unknown namespace '%.64s'",
			       item->place, type);
	if (c->spaces[i].is_listed)
		return err_set(e, ERR_USAGE, "%s: the %s namespace stands there twice",
			       item->place, type);
	c->spaces[i] = (struct config_space_use){ true, path && *path ? path : NULL };
	return 0;
}

static int read_spaces(const struct json_at *at, struct config *c, struct err *e)
{
	struct json_at array, item = { 0 };

	if (!json_member(at, "namespaces", &array))
		return 0;
	if (json_expect(&array, JSON_ARRAY, e))
		return -1;
	while (json_step(&array, &item))
		if (read_space(&item, c, e))
			return -1;
	return 0;
}

static int read_device(const struct json_at *at, struct config_device *d, struct err *e)
{
	const char *type = "";
	int64_t major = 0, minor = 0;
	uint32_t mode = 0666;

	if (json_expect(at, JSON_OBJECT, e) || fields_text(at, "path", &d->path, e) ||
	    fields_text(at, "type", &type, e) || fields_int(at, "major", &major, e) ||
	    fields_int(at, "minor", &minor, e) || fields_u32(at, "fileMode", &mode, e) ||
	    fields_u32(at, "uid", &d->uid, e) || fields_u32(at, "gid", &d->gid, e))
		return -1;
	if (!d->path || d->path[0] != '/')
		return err_set(e, ERR_USAGE, "%s.path: an absolute path was expected",
			       at->place);
	if (strlen(type) != 1 || !strchr("bcup", *type))
		return err_set(e, ERR_USAGE, "%s.type: b, c, u or p was expected",
			       at->place);
	d->mode = (mode & 07777) | (*type == 'b'   ? S_IFBLK
				    : *type == 'p' ? S_IFIFO
						   : S_IFCHR);
	d->device = *type == 'p' ? 0 : makedev((unsigned)major, (unsigned)minor);
	return 0;
}

static int read_devices(const struct json_at *at, struct config *c, struct err *e)
{
	struct json_at array, item = { 0 };
	const int64_t count =
		fields_array(at, "devices", &array, &c->devices, sizeof(*c->devices), e);

	if (count < 0)
		return -1;
	while ((int64_t)c->device_count < count && json_step(&array, &item))
		if (read_device(&item, &c->devices[c->device_count++], e))
			return -1;
	return 0;
}

static int read_propagation(const struct json_at *at, struct config *c, struct err *e)
{
	static const struct {
		const char *name;
		unsigned long flags;
	} words[] = {
		{ "private", MS_PRIVATE },
		{ "rprivate", MS_PRIVATE | MS_REC },
		{ "slave", MS_SLAVE },
		{ "rslave", MS_SLAVE | MS_REC },
		{ "shared", MS_SHARED },
		{ "rshared", MS_SHARED | MS_REC },
		{ "unbindable", MS_UNBINDABLE },
		{ "runbindable", MS_UNBINDABLE | MS_REC },
	};
	const char *text = NULL;

	if (fields_text(at, "rootfsPropagation", &text, e))
		return -1;
	if (!text || !*text)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (!strcmp(words[i].name, text))
			c->propagation = words[i].flags;
	return c->propagation
		       ? 0
		       : err_set(e, ERR_USAGE, "%s.rootfsPropagation: unknown '%.64s'",
				 at->place, text);
}

static int read_personality(const struct json_at *at, struct config *c, struct err *e)
{
	struct json_at object, flags, item = { 0 };
	const int found = fields_object(at, "personality", &object, e);

	if (found <= 0)
		return found;
	if (fields_text(&object, "domain", &c->domain, e))
		return -1;
	if (json_member(&object, "flags", &flags) && json_step(&flags, &item))
		return err_set(e, ERR_UNSUPPORTED, "%s: hutch-oci has none", flags.place);
	if (c->domain && strcmp(c->domain, "LINUX") != 0 &&
	    strcmp(c->domain, "LINUX32") != 0)
		return err_set(e, ERR_USAGE, "%s.domain: LINUX or LINUX32 was expected",
			       object.place);
	return 0;
}

static int read_clocks(const struct json_at *at, struct config *c, struct err *e)
{
	static const char *const names[CLOCK_COUNT] = { "monotonic", "boottime" };
	struct json_at object, item = { 0 };
	const char *name;
	const int found = fields_object(at, "timeOffsets", &object, e);

	while (found > 0 && json_step_key(&object, &item, &name)) {
		const int i = !strcmp(name, names[CLOCK_OF_BOOTTIME]);
		if (strcmp(name, names[i]) != 0)
			return err_set(e, ERR_USAGE, "%s: unknown clock", item.place);
		c->clocks[i].is_set = true;
		if (fields_int(&item, "secs", &c->clocks[i].secs, e) ||
		    fields_u32(&item, "nanosecs", &c->clocks[i].nanosecs, e))
			return -1;
		if (!c->spaces[SPACE_TIME].is_listed || c->spaces[SPACE_TIME].path)
			return err_set(e, ERR_USAGE, "%s: they take a new time namespace",
				       object.place);
	}
	return found < 0 ? -1 : 0;
}

/* Refuses members whose meaning this runtime does not have. */
static int refuse_rest(const struct json_at *at, struct err *e)
{
	static const char *const lacking[] = { "intelRdt", "netDevices", "memoryPolicy" };
	struct json_at member, item = { 0 };
	const char *key;

	for (size_t i = 0; i < ARRAY_LEN(lacking); i++)
		if (json_member(at, lacking[i], &member) &&
		    json_step_key(&member, &item, &key))
			return err_set(e, ERR_UNSUPPORTED,
				       "%s: hutch-oci does not have it", member.place);
	return 0;
}

int config_read_linux(const struct json_at *at, struct config *c, struct err *e)
{
	if (read_spaces(at, c, e) ||
	    config_read_maps(at, "uidMappings", &c->uids, &c->uid_count, e) ||
	    config_read_maps(at, "gidMappings", &c->gids, &c->gid_count, e) ||
	    read_devices(at, c, e) || fields_list(at, "maskedPaths", &c->masked, e) ||
	    fields_list(at, "readonlyPaths", &c->readonly, e) ||
	    config_read_pairs(at, "sysctl", &c->sysctls, &c->sysctl_count, e) ||
	    read_propagation(at, c, e) ||
	    fields_text(at, "cgroupsPath", &c->cgroups_path, e) ||
	    fields_text(at, "mountLabel", &c->mount_label, e) ||
	    read_personality(at, c, e) || read_clocks(at, c, e) || refuse_rest(at, e))
		return -1;
	if (fields_object(at, "resources", &c->resources, e) < 0 ||
	    fields_object(at, "seccomp", &c->seccomp, e) < 0)
		return -1;
	return 0;
}
