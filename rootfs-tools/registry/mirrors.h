/* mirrors -- mirrors and rules for registries, from registries.json in hutch's
 * configuration folder ($XDG_CONFIG_HOME/hutch, ~/.config/hutch).
 *
 *	{"mirrors": {"docker.io": ["https://cache.example/hub"]},
 *	 "insecure": ["registry.lan:5000"],
 *	 "patience": 30}
 *
 * mirrors	asked before the registry itself, in this order; each is a URL, whose
 *		path, if there is one, is put before every repository's
 * insecure	hosts whose certificates are not checked, and that need no TLS
 * patience	seconds within which a connection, and then bytes, must come
 *
 * An unknown key is an error.  Without the file there are no mirrors and no insecure
 * hosts, and the patience is 30 s. */
#pragma once
#include <stddef.h>

#include "base/list.h"

struct err;

#define MIRRORS_FILE	 "registries.json"
#define MIRRORS_FILE_MAX (1u << 20)
#define MIRRORS_PATIENCE 30u

struct mirrors {
	struct list of, urls; /* two lists of equal length: urls.items[i] is a mirror of
			       * the registry of.items[i] */
	struct list insecure;
	unsigned patience_s;
};

void mirrors_init(struct mirrors *m);
void mirrors_done(struct mirrors *m);

/* Adds the content of the file registries.json, if there is one. */
int mirrors_open(struct mirrors *m, struct err *e);

int mirrors_read(const char *text, size_t len, struct mirrors *m, struct err *e);
