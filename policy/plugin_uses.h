/* plugin_uses -- the plugins of a sandbox (docs/plugins.md), as they were looked up.
 *
 * A plugin is a folder.  That of a folder of the host, of the store and of those that
 * hutch ships is mounted read-only at /run/hutch/plugins/NAME; the folder of an image's
 * own plugin is in the image, and the host reads nothing of it. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* The most plugins of a sandbox. */
#define PLUGIN_USES_MAX 16
#define PLUGIN_USES_DIR "/run/hutch/plugins"

struct plugin_use {
	char *name;   /* owned */
	char *folder; /* owned; the plugin's folder in the sandbox */
	char *venv; /* owned; the folder in the sandbox of what `hutch plugin install` has
		       * made; NULL: nothing was installed */
	char *token; /* owned; the random token that the plugin's process and its URL get;
		       * NULL: the plugin has no port */
	uint16_t port; /* the port inside; 0: none */
	char *url;     /* owned; what follows http://HOST:PORT; NULL: no port */
};

struct plugin_uses {
	struct plugin_use *items; /* owned; in the order of the flags */
	size_t count;
	/* Owned; folders inside, separated by colons, that stand first on PATH and
	 * PYTHONPATH; NULL: none. */
	char *path, *python_path;
};

void plugin_uses_done(struct plugin_uses *u);

/* Adds a plugin of that name, which has no other field yet, and returns it. */
struct plugin_use *plugin_uses_add(struct plugin_uses *u, const char *name);
