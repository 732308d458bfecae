/* A command is arbitrary bytes.  However it is split, its commands follow one
 * another up to its end, and each alone is one command. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "actions/bash_split.h"
#include "base/buffer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_alone(const char *text, size_t len)
{
	struct bash_split alone;

	bash_split_init(&alone, text, len);
	if (alone.count > 1)
		abort();
	bash_split_done(&alone);
}

static void check(const struct bash_split *s)
{
	size_t listed = s->count < BASH_SPLIT_MAX ? s->count : BASH_SPLIT_MAX, at = 0;

	for (size_t i = 0; i < listed; i++) {
		size_t start = s->starts[i];
		size_t next = i + 1 < listed ? s->starts[i + 1] : s->last_start;
		if (start < at || next <= start || next > s->len)
			abort();
		check_alone(s->text + start, next - start);
		at = next;
	}
	if (listed > 0 && at != s->last_start)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct bash_split s;
	struct buffer list;

	memcpy(text, data, size);
	text[size] = '\0';
	size = strlen(text); /* a command ends at its first 0 byte */
	bash_split_init(&s, text, size);
	check(&s);
	buffer_init(&list, 64u << 20);
	bash_split_list(&s, &list);
	if (s.count == 0 && buffer_len(&list) > 0)
		abort();
	buffer_done(&list);
	bash_split_done(&s);
	free(text);
	return 0;
}
