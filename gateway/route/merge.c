#include "gateway/route/merge.h"

#include <string.h>

#include "base/buffer.h"
#include "policy/json/json_scan.h"

struct form {
	const char *front, *back;
};

/* As hutch serve writes them. */
static const struct form forms[MERGE_FORMS] = {
	[MERGE_ARRAY] = { "[", "]" },
	[MERGE_RUNTIMES] = { "{\"runtimes\":[", "]}" },
	[MERGE_SANDBOXES] = { "{\"sandboxes\":[", "]}" },
};

static void put(struct buffer *to, const char *text)
{
	(void)buffer_append(to, text, strlen(text)); /* `to` has no bound */
}

void merge_begin(enum merge_form form, struct buffer *to)
{
	put(to, forms[form].front);
}

bool merge_add(enum merge_form form, const char *text, size_t len, struct buffer *to)
{
	const size_t front = strlen(forms[form].front), back = strlen(forms[form].back);
	size_t values;

	while (len > 0 && json_is_blank(text[len - 1]))
		len--;
	if (len < front + back || memcmp(text, forms[form].front, front) != 0 ||
	    memcmp(text + len - back, forms[form].back, back) != 0 ||
	    json_scan(text, len, &values, NULL) < 0)
		return false;
	if (len == front + back)
		return true;
	if (buffer_len(to) > front)
		put(to, ",");
	(void)buffer_append(to, text + front, len - front - back);
	return true;
}

void merge_end(enum merge_form form, struct buffer *to)
{
	put(to, forms[form].back);
}
