/* Parses arbitrary bytes as the words of --args. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "bwrap/args.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An option that reads descriptors would close the fuzzer's own. */
static bool reads_descriptors(const uint8_t *data, size_t size)
{
	static const char name[] = "--add-seccomp-fd";

	return memmem(data, size, name, sizeof(name) - 1);
}

static void must_be_whole(const struct args *a)
{
	size_t sources = 0;

	if (a->op_count > ARGS_MAX)
		abort();
	for (size_t i = 0; i < a->op_count; i++) {
		const struct op *op = &a->ops[i];
		if (op->kind >= OP_KIND_COUNT || !op->target || op->sources > i)
			abort();
		if (op->perms > 07777)
			abort();
		sources += op->sources;
	}
	if (sources > a->op_count || !a->command)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const int fd = memfd_create("words", 0);
	AUTO_FREE char *number = text_format("%d", fd);
	char *words[] = { (char[]){ "--args" }, number, (char[]){ "true" }, NULL };
	struct args a;
	struct err e;

	if (fd < 0)
		abort();
	if (reads_descriptors(data, size) || write(fd, data, size) != (ssize_t)size ||
	    lseek(fd, 0, SEEK_SET) != 0) {
		(void)close(fd);
		return 0;
	}
	args_init(&a, 0);
	if (args_parse(&a, words, &e) == 0) {
		must_be_whole(&a);
		(void)args_check(&a, &e);
	}
	args_done(&a);
	return 0;
}
