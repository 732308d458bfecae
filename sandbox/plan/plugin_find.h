/* plugin_find -- looks up the plugins that a policy names (docs/plugins.md).
 *
 * The programs that serve actions call this before the launch.  A plugin.json of a folder
 * that the user names, of the store and of those that hutch ships is read here, so that a
 * fault in it is an error of the launch; one in an image is read by the executor alone. */
#pragma once

struct err;
struct manifest;
struct policy;

/* Looks up each of policy->plugins, fills in policy->plugin_uses, and adds the volumes and
 * published ports that they need. */
int plugin_find_all(struct policy *p, struct err *e);

/* Returns the folder of the plugins that hutch ships, allocated; NULL: there is none. */
char *plugin_find_root(void);
/* Returns the folder of the shipped plugin of this name, allocated; NULL: there is none. */
char *plugin_find_shipped(const char *name);
/* Fills in the error for a plugin that does not exist.  Returns -1. */
int plugin_find_absent(const char *name, struct err *e);

/* Reads plugin.json of a folder; `name` is as for manifest_read(), whose result it is. */
int plugin_find_manifest(const char *folder, const char *name, struct manifest *ret,
			 struct err *e);

/* Returns the folder in the store of what `hutch plugin install` has made for the plugin,
 * allocated, whether it exists or not; NULL: there is no store. */
char *plugin_find_installed(const char *name);
