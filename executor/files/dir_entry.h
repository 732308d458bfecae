/* dir_entry -- a name in a folder, as getdents64(2) returns it. */
#pragma once
#include <stdint.h>

/* The kernel's layout. */
struct dir_entry {
	uint64_t ino;
	int64_t off;
	uint16_t len;
	unsigned char type; /* DT_... */
	char name[];
};

/* The type, DT_..., also if the file system did not tell it; DT_UNKNOWN: the file has
 * gone. */
unsigned char dir_entry_type(int folder, const struct dir_entry *d);
