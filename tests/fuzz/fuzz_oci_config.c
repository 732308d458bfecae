/* A bundle's config.json comes from an engine, which takes parts of it from images and
 * users.  It is read, or refused with an error text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "oci/config.h"
#include "oci/mount_options.h"
#include "oci/resources.h"
#include "sandbox/raw/raw_plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(struct config *c)
{
	struct resources r;
	struct err e = { 0 };

	for (size_t i = 0; i < c->mount_count; i++) {
		struct raw_step step = { .fd = -1, .userns = -1 };
		struct mount_options o;
		mount_options_read(&c->mounts[i], &o, &step);
		free(o.data);
	}
	if (resources_read(&c->resources, &r, &e) == 0)
		resources_done(&r);
	else if (!e.text[0])
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config c;
	struct err e = { 0 };
	const int fd = memfd_create("config", MFD_CLOEXEC);
	char path[32];

	if (fd < 0 || io_write_all(fd, data, size))
		abort();
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (config_read(path, "/bundle", &c, &e) == 0) {
		use(&c);
		config_done(&c);
	} else if (!e.text[0]) {
		abort();
	}
	(void)close(fd);
	return 0;
}
