/* hosts_file -- the addresses that /etc/hosts of the host gives to names (hosts(5)).
 *
 * The file is read once, before the process is confined.  An entry comes before DNS, as
 * it does for the host's other programs; its addresses are checked like those of DNS. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "egress/resolved.h"

#define HOSTS_FILE_MAX	     (1u << 20) /* bytes that are read of the file */
#define HOSTS_FILE_NAMES_MAX 4096

struct hosts_file {
	struct hosts_entry *entries; /* owned */
	size_t count;
};

/* Reads a text in that form.  Lines that make no sense, and names beyond the bound, are
 * left out. */
void hosts_file_parse(struct hosts_file *h, const char *text, size_t len);
/* Reads the file; a file that cannot be read has no names. */
void hosts_file_read(struct hosts_file *h, const char *path);
void hosts_file_done(struct hosts_file *h);

/* Gives the addresses of a name; false: the file does not have it. */
bool hosts_file_find(const struct hosts_file *h, const char *name, struct resolved *ret);
