/* A command line, its words ended by NUL: it becomes a policy that passes its
 * check, or is refused with an error text. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "cli/common/options.h"
#include "policy/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Checks the properties of a policy on which a launch relies. */
static void check(const struct policy *p)
{
	uint32_t uid, gid;

	for (size_t i = 0; i < p->volume_count; i++) {
		const struct volume *v = &p->volumes[i];
		if (v->target[0] != '/' || !v->target[1] || strstr(v->target, "//") ||
		    !v->from)
			abort();
		if (!strncmp(v->target, "/proc/", 6) || !strcmp(v->target, "/proc"))
			abort();
	}
	for (size_t i = 0; i < p->ulimit_count; i++)
		if (p->ulimits[i].soft > p->ulimits[i].hard)
			abort();
	/* An image's configuration decides the command, and its files the user. */
	if (!policy_has_image_user(p) && policy_user(p, &uid, &gid, NULL) < 0)
		abort();
	if (p->image != IMAGE_STORE && (p->entrypoint || !p->argv.count))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct list argv = { 0 };
	struct policy p;
	struct run_options options = { .policy = &p, .json_fd = -1 };
	struct err e = { 0 };

	/* Skips options that name a file (--policy, --env-file, --secret-file): the
	 * parser would read any file that the input names. */
	if (size == 0 || data[size - 1] || memmem(data, size, "poli", 4) ||
	    memmem(data, size, "env-f", 5) ||
	    memmem(data, size, "secret-f", 8))
		return 0;
	for (size_t at = 0; at < size; at += strlen((const char *)data + at) + 1)
		list_add(&argv, (const char *)data + at);
	policy_init(&p);
	if (options_parse(argv.items, &options, &e) < 0) {
		if (!e.text[0])
			abort();
	} else if (policy_check(&p, &e) == 0) {
		check(&p);
	} else if (!e.text[0]) {
		abort();
	}
	policy_done(&p);
	list_done(&argv);
	return 0;
}
