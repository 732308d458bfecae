/* entry -- what getdents64(2) tells of a name in a folder. */
#pragma once
#include <stdint.h>

/* As the kernel writes it. */
struct entry {
	uint64_t ino;
	int64_t off;
	uint16_t len;
	unsigned char type; /* DT_... */
	char name[];
};

/* DT_..., also where the file system did not say it; DT_UNKNOWN: it has gone. */
unsigned char entry_type(int folder, const struct entry *d);
