/* A line from the control socket.  If the scanner accepts it, the reader
 * agrees: it finds the same values, in pieces that lie inside the line, and
 * strings that are text.  Refused lines are read, too, since staying inside the
 * line must not depend on the scan.  The line is copied to its exact size, so
 * that a read beyond it is noticed. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/utf8.h"
#include "cli/common/json_view.h"
#include "policy/json/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void claim(int is_so)
{
	if (!is_so)
		abort();
}

static void claim_inside(struct json_view line, struct json_view v)
{
	claim(v.text >= line.text && v.len <= line.len &&
	      (size_t)(v.text - line.text) <= line.len - v.len);
}

/* Checks a value out of a scanned line: scanned alone, it must be valid as well. */
static void check_scalar(struct json_view line, struct json_view v, bool is_scanned)
{
	struct json_view again;
	double number;
	int64_t integer;
	size_t len;

	claim_inside(line, v);
	if (is_scanned)
		claim(json_view_scan(&again, v.text, v.len, NULL) == 0 &&
		      again.len == v.len);
	char *text = json_view_string(v);
	claim(!text || !is_scanned || json_view_is(v, text));
	claim(!text || !is_scanned ||
	      utf8_is_valid((uint8_t *)text, strlen(text), false));
	if (is_scanned && json_view_number(v, &number))
		claim(isfinite(number) &&
		      (!json_view_integer(v, &integer) || (double)integer == number));
	free(json_view_base64(v, &len));
	free(text);
}

/* Checks that looking the key up finds its value, unless the key occurs twice. */
static void check_key(struct json_view container, const struct json_view_place *place)
{
	char *key = place->key.text ? json_view_string(place->key) : NULL;

	if (key && !strchr(key, '.')) {
		struct json_view found = json_view_get(container, key);
		claim(!found.text || found.text == place->value.text);
	}
	free(key);
}

static void walk(struct json_view line, struct json_view v, bool is_scanned,
		 unsigned depth)
{
	struct json_view_place place = { 0 };
	unsigned count = 0;

	check_scalar(line, v, is_scanned);
	while (depth < JSON_DEPTH_MAX && count++ < 256 && json_view_step(v, &place)) {
		if (place.key.text)
			check_scalar(line, place.key, is_scanned);
		if (is_scanned)
			check_key(v, &place);
		walk(line, place.value, is_scanned, depth + 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size ? size : 1);
	struct json_view line = { copy, size }, v = { copy, size };
	struct err e;

	claim(copy != NULL);
	if (size)
		memcpy(copy, data, size);
	bool is_scanned = json_view_scan(&v, copy, size, &e) == 0;
	if (is_scanned || size)
		walk(line, v, is_scanned, 0);
	(void)json_view_get(v, "error.data.kind");
	free(copy);
	return 0;
}
