#include "rootfs-tools/layers/shared_library.h"

#include <dlfcn.h>
#include <string.h>

#include "base/err.h"

static int cannot_load(const char *package, struct err *e)
{
	const char *why = dlerror();

	(void)err_set(e, ERR_UNSUPPORTED, "load a library: %.300s",
		      why ? why : "unknown");
	return err_remedy(e, "Debian's package %s has it", package);
}

int shared_library_load(const char *file, const char *package,
			const struct shared_library_call *calls, size_t count,
			struct err *e)
{
	for (size_t i = 0; i < count && calls[i].within; i++)
		memcpy(calls[i].to, &calls[i].within, sizeof(calls[i].within));
	if (calls[0].within)
		return 0;
	void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return cannot_load(package, e);
	for (size_t i = 0; i < count; i++) {
		void *call = dlsym(library, calls[i].name);
		if (!call)
			return cannot_load(package, e);
		/* Pointers to functions and to objects have the same size and
		 * form (POSIX, dlsym(3)). */
		memcpy(calls[i].to, &call, sizeof(call));
	}
	return 0;
}
