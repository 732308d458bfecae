/* Arbitrary patterns and paths: a line of the input is the pattern, the rest
 * the path.  If a path matches, each folder on its way is reported as leading
 * to it. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "executor/search/glob.h"
#include "executor/session/shell_quote.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct glob *g, char *path)
{
	bool matches = glob_matches(g, path);

	for (char *slash; (slash = strrchr(path, '/'));) {
		*slash = '\0';
		if (*path && !glob_leads_to(g, path) && matches)
			abort();
	}
}

/* Makes a path relative to a folder: parts with slashes between them, none of
 * them empty. */
static void tidy(char *path)
{
	char *to = path;

	for (const char *at = path; *at; at++)
		if (*at != '/' || (to > path && to[-1] != '/'))
			*to++ = *at;
	if (to > path && to[-1] == '/')
		to--;
	*to = '\0';
}

static void check_shown(const char *path)
{
	char *shown = shell_quote_shown(path);

	for (const char *at = shown; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			abort();
	if (strncmp(shown, "$'", 2) != 0 && strcmp(shown, path) != 0)
		abort();
	free(shown);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = calloc(size + 1, 1), *path;
	const char *why = NULL;

	if (!text)
		abort();
	memcpy(text, data, size);
	path = strchr(text, '\n');
	if (path)
		*path++ = '\0';
	struct glob *g = glob_new(text, &why);
	if (!g && !why)
		abort();
	if (path)
		tidy(path);
	if (path && *path)
		check_shown(path);
	if (g && path && *path)
		check(g, path);
	glob_free(g);
	free(text);
	return 0;
}
