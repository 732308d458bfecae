/* A Dockerfile, its words and .dockerignore are arbitrary bytes.  An
 * instruction that is read has words if its kind requires them, and an expanded
 * text is bounded. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "rootfs-tools/build/dockerfile.h"
#include "rootfs-tools/build/expand.h"
#include "rootfs-tools/build/ignore.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *get(const void *context, const char *name, size_t len)
{
	(void)context;
	return len == 1 ? NULL : len == 2 ? "" : name;
}

static void check_word(char escape, const char *word)
{
	const struct expand x = { .escape = escape, .get = get };
	struct err e = { 0 };
	char *is = NULL;

	if (expand_word(&x, word, &is, &e) == 0 && strlen(is) > EXPAND_MAX)
		abort();
	free(is);
}

static void check_instruction(const struct dockerfile *d, const struct instruction *i)
{
	if ((i->kind == INSTRUCTION_ENV || i->kind == INSTRUCTION_LABEL) &&
	    (i->words.count == 0 || i->words.count % 2))
		abort();
	if (i->kind == INSTRUCTION_FROM && i->words.count != 1 && i->words.count != 3)
		abort();
	if ((i->kind == INSTRUCTION_COPY || i->kind == INSTRUCTION_ADD) &&
	    i->words.count < 2)
		abort();
	if (i->kind == INSTRUCTION_RUN && !i->is_exec && i->words.count != 1)
		abort();
	for (size_t n = 0; n < i->words.count; n++)
		check_word(d->escape, i->words.items[n]);
	for (size_t n = 0; n < i->heredoc_count; n++)
		if (!*i->heredocs[n].name || !i->heredocs[n].text)
			abort();
}

static void check_ignore(const char *text, size_t size)
{
	struct ignore ignore;

	if (size > 4096 || ignore_read(text, size, "fuzz", &ignore, NULL) < 0)
		return;
	bool all = ignore_has_all_below(&ignore, "a/b");
	if (all && !ignore_has(&ignore, "a/b/c"))
		abort();
	ignore_done(&ignore);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct dockerfile d;
	struct err e = { 0 };

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	if (dockerfile_parse(text, size, "fuzz", &d, &e) == 0)
		for (size_t i = 0; i < d.count; i++)
			check_instruction(&d, &d.all[i]);
	else if (e.kind == ERR_NONE)
		abort();
	dockerfile_done(&d);
	check_ignore(text, size);
	free(text);
	return 0;
}
