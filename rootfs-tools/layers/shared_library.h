/* shared_library -- loads a shared library when it is first needed.
 *
 * libcurl brings along thirty others, and libarchive a dozen; to load them
 * takes longer than the work of most verbs of hutch image (docs/speed.md).  A
 * verb that asks no registry and decompresses nothing does not load them, and
 * works without having them installed.
 *
 * A static hutch-image (STATIC= in the Makefile) has the libraries within itself, and
 * loads nothing. */
#pragma once
#include <stddef.h>

struct err;

struct shared_library_call {
	const char *name;
	void *to; /* the address of the pointer to set */
	void (*within)(void); /* the function in a static program; otherwise NULL */
};

#ifdef HUTCH_STATIC
#define SHARED_LIBRARY_CALL(function, pointer)                                         \
	{ #function, (pointer), (void (*)(void))(function) }
#else
#define SHARED_LIBRARY_CALL(function, pointer) { #function, (pointer), NULL }
#endif

/* Loads a library.  `file` is the library's soname; `package` is the Debian package
 * that has it.  ERR_UNSUPPORTED: the library is not installed, or lacks one of
 * `calls`.  It stays loaded until the process ends. */
int shared_library_load(const char *file, const char *package,
			const struct shared_library_call *calls, size_t count,
			struct err *e);
