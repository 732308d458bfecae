/* A policy file: it becomes settings that the flags judge, or is refused with a
 * sentence. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "cli/common/options.h"
#include "policy/policy.h"
#include "policy/policy_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void judge(const struct policy_file *s)
{
	struct policy p;
	struct run_options options = { .verb = VERB_CREATE, .policy = &p, .json_fd = -1 };
	struct err e = { 0 };

	for (size_t i = 0; i < s->count; i++)
		if (!s->items[i].value || !s->items[i].kind || !s->items[i].origin)
			abort();
	policy_init(&p);
	p.takes_actions = true;
	if ((options_apply(&options, s, &e) < 0 || policy_check(&p, &e) < 0) &&
	    !e.text[0])
		abort();
	policy_done(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct policy_file s = { 0 };
	struct err e = { 0 };

	/* Skips keys that name a file, such as env_files: the parser would read any
	 * file that the input names. */
	if (memmem(data, size, "_files", 6) || memmem(data, size, "\\u", 2))
		return 0;
	AUTO_CLOSE int fd = memfd_create("policy", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	AUTO_FREE char *path = text_format("/proc/self/fd/%d", fd);
	if (policy_file_read(&s, path, &e) == 0)
		judge(&s);
	else if (!e.text[0])
		abort();
	policy_file_done(&s);
	return 0;
}
