/* Output from inside is arbitrary bytes.  The first line of the input tells how
 * it is cut, the next lines, up to an empty one, are secret values; the rest is
 * the text.  The result must equal that of the naive masker, however the text
 * is cut. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "tests/unit/naive_redact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define VALUES 8
#define FLUSHES 64
#define TEXT_MAX 4096

struct input {
	char *all; /* owned */
	const char *cuts, *values[VALUES], *text;
	size_t cut_count, count, len;
};

/* Takes a line and ends it with a 0 in place; *at is moved to the rest. */
static char *line(char **at)
{
	char *begin = *at, *stop = strchr(begin, '\n');

	*at = stop ? stop + 1 : begin + strlen(begin);
	if (stop)
		*stop = '\0';
	return begin;
}

/* \1 stands for a newline within a value. */
static void read_input(struct input *in, const uint8_t *data, size_t size)
{
	char *at = in->all = mem_zeroed(1, size + 1);

	memcpy(at, data, size);
	in->cuts = line(&at);
	in->cut_count = strlen(in->cuts);
	while (in->count < VALUES) {
		char *value = line(&at);
		if (!*value)
			break;
		for (char *c = value; *c; c++)
			*c = *c == '\1' ? '\n' : *c;
		in->values[in->count++] = value;
	}
	in->text = at;
	in->len = size - (size_t)(at - in->all);
	in->len = in->len < TEXT_MAX ? in->len : TEXT_MAX;
}

static void feed(const struct input *in, const struct redact *m, struct naive *n,
		 struct buffer *out)
{
	struct redact_stream s = { 0 };
	size_t at = 0;

	for (size_t i = 0; at < in->len; i++) {
		unsigned char cut = i < in->cut_count ? (unsigned char)in->cuts[i] : 0;
		size_t len = cut ? cut >> 1 : in->len;
		len = len < in->len - at ? len : in->len - at;
		redact_feed(m, &s, in->text + at, len, out);
		at += len;
		if ((cut & 1) && n->flush_count < FLUSHES) {
			redact_flush(&s, out);
			n->flushes[n->flush_count++] = at;
		}
	}
	redact_flush(&s, out);
	redact_stream_done(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { 0 };
	struct redact m = { 0 };
	struct buffer out;
	size_t flushes[FLUSHES], len;
	struct err e;

	read_input(&in, data, size);
	for (size_t i = 0; i < in.count; i++)
		if (redact_add(&m, in.values[i], NULL, &e) < 0 &&
		    strlen(in.values[i]) < 1024)
			abort();
	if (m.count < REDACT_BYTES / 2) {
		struct naive n = {
			in.values, in.count, in.text, in.len, flushes, 0, NULL
		};
		buffer_init(&out,
			    (REDACT_GROWTH * TEXT_MAX) + FLUSHES * sizeof(REDACT_TEXT));
		feed(&in, &m, &n, &out);
		char *want = naive_redact(&n, &len);
		if (out.is_cut || len != buffer_len(&out) ||
		    (len && memcmp(want, buffer_data(&out), len) != 0))
			abort();
		free(want);
		buffer_done(&out);
	}
	redact_done(&m);
	free(in.all);
	return 0;
}
