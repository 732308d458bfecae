#include "oci/config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>

#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "base/regular.h"
#include "oci/fields.h"

int config_read_pairs(const struct json_at *at, const char *key, struct config_pair **ret,
		      size_t *ret_count, struct err *e)
{
	struct json_at object, item = { 0 };
	const char *name, *text;
	const int found = fields_object(at, key, &object, e);
	size_t count = 0;

	if (found <= 0)
		return found;
	while (json_step_key(&object, &item, &name))
		count++;
	if (count > FIELDS_ITEMS_MAX)
		return err_set(e, ERR_LIMIT, "%s: more than %d members", object.place,
			       FIELDS_ITEMS_MAX);
	*ret = calloc(count + 1, sizeof(**ret));
	if (!*ret)
		abort();
	item = (struct json_at){ 0 };
	while (json_step_key(&object, &item, &name)) {
		if (json_string(&item, &text, e))
			return -1;
		(*ret)[(*ret_count)++] = (struct config_pair){ name, text };
	}
	return 0;
}

int config_read_maps(const struct json_at *at, const char *key, struct idmap **ret,
		     size_t *ret_count, struct err *e)
{
	struct json_at array, item = { 0 };
	const int64_t count = fields_array(at, key, &array, ret, sizeof(**ret), e);

	if (count < 0)
		return -1;
	while ((int64_t)*ret_count < count && json_step(&array, &item)) {
		struct idmap *map = &(*ret)[(*ret_count)++];
		if (fields_u32(&item, "containerID", &map->inside, e) ||
		    fields_u32(&item, "hostID", &map->outside, e) ||
		    fields_u32(&item, "size", &map->count, e))
			return -1;
	}
	return 0;
}

static int read_mount(const struct json_at *at, struct config_mount *m, struct err *e)
{
	if (json_expect(at, JSON_OBJECT, e) ||
	    fields_text(at, "destination", &m->target, e) ||
	    fields_text(at, "type", &m->type, e) ||
	    fields_text(at, "source", &m->source, e) ||
	    fields_list(at, "options", &m->options, e) ||
	    config_read_maps(at, "uidMappings", &m->uids, &m->uid_count, e) ||
	    config_read_maps(at, "gidMappings", &m->gids, &m->gid_count, e))
		return -1;
	return m->target && *m->target
		       ? 0
		       : err_set(e, ERR_USAGE, "%s.destination: a path was expected",
				 at->place);
}

static int read_mounts(const struct json_at *root, struct config *c, struct err *e)
{
	struct json_at array, item = { 0 };
	const int64_t count =
		fields_array(root, "mounts", &array, &c->mounts, sizeof(*c->mounts), e);

	if (count < 0)
		return -1;
	while ((int64_t)c->mount_count < count && json_step(&array, &item))
		if (read_mount(&item, &c->mounts[c->mount_count++], e))
			return -1;
	return 0;
}

static int read_root(const struct json_at *config, const char *bundle, struct config *c,
		     struct err *e)
{
	struct json_at root;
	const char *path = "";

	if (json_member(config, "root", &root) &&
	    (json_expect(&root, JSON_OBJECT, e) || fields_text(&root, "path", &path, e) ||
	     fields_bool(&root, "readonly", &c->is_root_readonly, e)))
		return -1;
	if (!*path)
		return err_set(e, ERR_USAGE,
			       "config.json.root.path: a path was expected");
	c->root = *path == '/' ? text_copy(path) : text_format("%s/%s", bundle, path);
	return 0;
}

/* podman asks by this annotation of crun's for its own groups (--group-add keep-groups). */
static bool keeps_groups(const struct config *c)
{
	const char *word = config_annotation(c, "run.oci.keep_original_groups");

	return word && strcmp(word, "0") != 0;
}

static int read_document(const struct json_at *root, const char *bundle, struct config *c,
			 struct err *e)
{
	struct json_at at;

	if (json_expect(root, JSON_OBJECT, e) ||
	    fields_text(root, "ociVersion", &c->version, e))
		return -1;
	if (!c->version || strncmp(c->version, "1.", 2) != 0)
		return err_set(e, ERR_USAGE, "config.json.ociVersion: 1.x was expected");
	if (read_root(root, bundle, c, e) ||
	    fields_text(root, "hostname", &c->hostname, e) ||
	    fields_text(root, "domainname", &c->domainname, e) ||
	    read_mounts(root, c, e) || hooks_read(root, &c->hooks, e) ||
	    config_read_pairs(root, "annotations", &c->annotations, &c->annotation_count,
			      e))
		return -1;
	c->hooks.may_fail_late = strtoul(c->version + 2, NULL, 10) < 3;
	c->has_process = json_member(root, "process", &at);
	if (c->has_process && process_read(&at, &c->process, e))
		return -1;
	c->process.keeps_groups = keeps_groups(c);
	const int found = fields_object(root, "linux", &at, e);
	return found <= 0 ? found : config_read_linux(&at, c, e);
}

static int check(const struct config *c, struct err *e)
{
	if (c->hostname && *c->hostname && !c->spaces[SPACE_UTS].is_listed)
		return err_set(e, ERR_USAGE,
			       "config.json.hostname: it takes a uts namespace");
	if (c->domainname && *c->domainname && !c->spaces[SPACE_UTS].is_listed)
		return err_set(e, ERR_USAGE,
			       "config.json.domainname: it takes a uts namespace");
	if ((c->uid_count || c->gid_count) && !c->spaces[SPACE_USER].is_listed)
		return err_set(
			e, ERR_USAGE,
			"config.json.linux.uidMappings: they take a user namespace");
	if (c->spaces[SPACE_MOUNT].is_listed)
		return 0;
	if (c->spaces[SPACE_USER].is_listed)
		return err_set(
			e, ERR_UNSUPPORTED,
			"config.json.linux.namespaces: a user namespace takes one of "
			"type mount, too");
	/* The container's mounts are in no namespace, and can follow no other ones. */
	return c->propagation & (MS_SHARED | MS_SLAVE)
		       ? err_set(e, ERR_UNSUPPORTED,
				 "config.json.linux.rootfsPropagation: it takes a mount "
				 "namespace")
		       : 0;
}

int config_read(const char *path, const char *bundle, struct config *ret, struct err *e)
{
	struct config c = { 0 };
	struct json_at root;

	AUTO_CLOSE int fd = regular_open(AT_FDCWD, path, 0, path, e);
	if (fd < 0)
		return e->sys == ENOENT
			       ? err_remedy(e, "--bundle DIR names the bundle's folder; "
					       "hutch-oci spec writes a config.json")
			       : -1;
	if (io_read_file(fd, path, FIELDS_FILE_MAX, &c.text, &c.len, e))
		return -1;
	c.doc = json_parse_wide(c.text, c.len, e);
	if (!c.doc) {
		config_done(&c);
		return err_in(e, "%s", path);
	}
	json_root(c.doc, "config.json", &root);
	if (read_document(&root, bundle, &c, e) || check(&c, e)) {
		config_done(&c);
		return -1;
	}
	*ret = c;
	return 0;
}

void config_done(struct config *c)
{
	for (size_t i = 0; i < c->mount_count; i++) {
		list_done(&c->mounts[i].options);
		free(c->mounts[i].uids);
		free(c->mounts[i].gids);
	}
	free(c->mounts);
	process_done(&c->process);
	hooks_done(&c->hooks);
	list_done(&c->masked);
	list_done(&c->readonly);
	free(c->annotations);
	free(c->uids);
	free(c->gids);
	free(c->devices);
	free(c->sysctls);
	free(c->root);
	json_free(c->doc);
	free(c->text);
	*c = (struct config){ 0 };
}

const char *config_annotation(const struct config *c, const char *key)
{
	for (size_t i = 0; i < c->annotation_count; i++)
		if (!strcmp(c->annotations[i].key, key))
			return c->annotations[i].value;
	return NULL;
}
