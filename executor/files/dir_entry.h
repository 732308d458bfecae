/* dir_entry -- a name in a folder, as getdents64(2) returns it. */
#pragma once
#include <stdint.h>

/* The kernel's layout of an entry, as getdents64(2) writes it. */
struct dir_entry {
	uint64_t ino;
	int64_t off;
	uint16_t len;
	unsigned char type; /* the file's type, DT_... of readdir(3) */
	char name[];
};

/* Returns the file's type, DT_..., also if the file system did not put it into the entry;
 * DT_UNKNOWN: the file has gone. */
unsigned char dir_entry_type(int folder, const struct dir_entry *d);
