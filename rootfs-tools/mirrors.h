/* mirrors -- where a registry is to be asked, and how: registries.json in hutch's
 * configuration folder ($XDG_CONFIG_HOME/hutch, ~/.config/hutch).
 *
 *	{"mirrors": {"docker.io": ["https://cache.example/hub"]},
 *	 "insecure": ["registry.lan:5000"],
 *	 "patience": 30}
 *
 * mirrors	asked before the registry itself, in this order; each is a URL, whose
 *		path, if it has one, stands in front of every repository's
 * insecure	hosts whose certificates are not asked for, and that may speak without TLS
 * patience	seconds in which a connection must come about, and some bytes come
 *
 * An unknown key is an error.  No file: no mirrors, nobody insecure, 30 s. */
#pragma once
#include <stddef.h>

#include "base/list.h"

struct err;

#define MIRRORS_FILE	 "registries.json"
#define MIRRORS_FILE_MAX (1u << 20)
#define MIRRORS_PATIENCE 30u

struct mirrors {
	struct list of, urls; /* mirror i of registry of.items[i] is urls.items[i] */
	struct list insecure;
	unsigned patience_s;
};

void mirrors_init(struct mirrors *m);
void mirrors_done(struct mirrors *m);

/* Adds what the file says, if there is one. */
int mirrors_open(struct mirrors *m, struct err *e);

int mirrors_read(const char *text, size_t len, struct mirrors *m, struct err *e);
