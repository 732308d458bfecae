#include "gateway/box_id.h"

#include <string.h>

#include "base/err.h"

#define TAIL (1 + BOX_ID_DIGITS)

static bool is_pod(const char *text, size_t len)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";

	if (len == 0 || len > BOX_ID_POD_MAX || text[0] == '-' || text[len - 1] == '-')
		return false;
	for (size_t i = 0; i < len; i++)
		if (!memchr(letters, text[i], sizeof(letters) - 1))
			return false;
	return true;
}

int box_id_check_pod(const char *pod, struct err *e)
{
	if (is_pod(pod, strlen(pod)))
		return 0;
	return err_set(
		e, ERR_USAGE,
		"pod '%.60s': up to %d lower-case letters, digits and hyphens, and no "
		"hyphen at an end",
		pod, BOX_ID_POD_MAX);
}

void box_id_make(const char *pod, const char *digits, char ret[BOX_ID_MAX + 1])
{
	const size_t len = pod ? strlen(pod) : 0;

	if (pod) {
		memcpy(ret, pod, len);
		ret[len] = '-';
	}
	char *tail = ret + (pod ? len + 1 : 0);
	tail[0] = 'r';
	memcpy(tail + 1, digits, BOX_ID_DIGITS);
	tail[TAIL] = '\0';
}

static bool is_tail(const char *text, size_t len)
{
	if (len != TAIL || text[0] != 'r')
		return false;
	for (size_t i = 1; i < len; i++)
		if (!memchr("0123456789abcdef", text[i], 16))
			return false;
	return true;
}

bool box_id_is(const char *pod, const char *text)
{
	const size_t len = pod ? strlen(pod) : 0;

	if (pod && (strncmp(text, pod, len) != 0 || text[len] != '-'))
		return false;
	text += pod ? len + 1 : 0;
	return is_tail(text, strlen(text));
}

size_t box_id_pod(const char *id, size_t len)
{
	if (len < TAIL + 2 || !is_tail(id + len - TAIL, TAIL) ||
	    id[len - TAIL - 1] != '-')
		return 0;
	return is_pod(id, len - TAIL - 1) ? len - TAIL - 1 : 0;
}
