/* library -- a shared library that is loaded when it is first needed.
 *
 * libcurl brings thirty others along and libarchive a dozen, which take longer to load than most
 * verbs of hutch image take to do their work (docs/speed.md): who asks no registry and
 * decompresses nothing does not wait for them, and can do without having them. */
#pragma once
#include <stddef.h>

struct err;

struct library_call {
	const char *name;
	void *to; /* a pointer to a function: where its address goes */
};

/* `file` is its soname; `package` is Debian's name of what has it.  ERR_UNSUPPORTED: it is
 * not here, or does not have all of `calls`.  It stays loaded until the process ends. */
int library_load(const char *file, const char *package, const struct library_call *calls,
		 size_t count, struct err *e);
