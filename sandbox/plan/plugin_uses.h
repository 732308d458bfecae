/* plugin_uses -- the plugins of a sandbox (docs/plugins.md), as the plan has them.
 *
 * A plugin is a folder.  That of a folder of the host, of the store and of those that
 * hutch ships is mounted read-only at /run/hutch/plugins/NAME; the folder of an image's
 * own plugin is in the image, and the host reads nothing of it. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* The most plugins of a sandbox. */
#define PLUGIN_USES_MAX 16

struct plugin_use {
	char *name;   /* owned */
	char *folder; /* owned; the plugin's folder in the sandbox */
	char *token;  /* owned; the random token that the plugin's process and its URL get;
		       * NULL: the plugin has no port */
	uint16_t port; /* the port inside; 0: none */
	char *url;     /* owned; what follows http://HOST:PORT; NULL: no port */
};

struct plugin_uses {
	struct plugin_use *items; /* owned; in the order of the flags */
	size_t count;
};
