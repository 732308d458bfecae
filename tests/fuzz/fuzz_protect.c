/* Names that the inside gives to its files, against patterns of a policy: the
 * first line of the input is the pattern, the rest the path.  A file below a
 * protected one is protected, each folder above it is reported as leading to
 * it, and upper case makes no difference. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "policy/protect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void capitals(char *text)
{
	for (; *text; text++)
		if (*text >= 'a' && *text <= 'z')
			*text -= 'a' - 'A';
}

/* Whether each folder above a match must be reported.  That is so if the pattern begins
 * with "/", since it then has its place, but not with "/" and "**".  Patterns that are
 * not ASCII are left out: when their case is folded, they may become such a pattern. */
static bool says_what_leads(const char *pattern)
{
	const char *first = pattern + strspn(pattern, "/");

	for (const char *at = pattern; *at; at++)
		if (*at & 0x80)
			return false;
	return first > pattern && strncmp(first, "**", 2) != 0;
}

/* Whether the path has a letter, and so a name that every file system keeps. */
static bool has_name(const char *path)
{
	return strcspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") <
	       strlen(path);
}

static void check(const struct protect *p, const char *pattern, char *path)
{
	const bool leads = says_what_leads(pattern);
	enum protected is = protect_find(p, path, NULL);
	char *below = text_format("%s/x", path);
	bool was_yes = is == PROTECTED_YES;

	if (was_yes && protect_find(p, below, NULL) != PROTECTED_YES)
		abort();
	free(below);
	capitals(path);
	if (protect_find(p, path, NULL) != is)
		abort();
	for (char *slash; was_yes && leads && (slash = strrchr(path, '/'));) {
		*slash = '\0';
		if (has_name(path) && protect_find(p, path, NULL) == PROTECTED_NOT)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = calloc(size + 1, 1), *path;
	struct list patterns = { 0 };

	if (!text)
		abort();
	memcpy(text, data, size);
	path = strchr(text, '\n');
	if (path)
		*path++ = '\0';
	if (path && *path && protect_check(text, NULL) == 0) {
		list_add(&patterns, text);
		struct protect *p = protect_new(&patterns);
		list_done(&patterns);
		check(p, text, path);
		protect_free(p);
	}
	free(text);
	return 0;
}
