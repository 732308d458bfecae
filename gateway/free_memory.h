/* free_memory -- how much memory sandboxes of this server can still have: that of the
 * host, or of the container in which the server runs, whichever is less.
 *
 * The files stay open, since the front, which reads them, opens none. */
#pragma once
#include <stdint.h>

#define FREE_MEMORY_FILES 4

struct free_memory {
	int fds[FREE_MEMORY_FILES]; /* owned; -1: the kernel does not have this file */
};

void free_memory_open(struct free_memory *m);
void free_memory_close(struct free_memory *m);

/* Returns bytes; UINT64_MAX: it is not known. */
uint64_t free_memory_bytes(const struct free_memory *m);

/* Finds the number behind `name` at the beginning of a line; UINT64_MAX: there is none,
 * as where the file says "max". */
uint64_t free_memory_line(const char *text, const char *name);
