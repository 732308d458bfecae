#include "actions/stderr_denials.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/list.h"
#include "base/own.h"

/* Longer lines are skipped: they are hardly error messages. */
#define LINE 1024

static const struct {
	const char *text; /* in lower case; lines are searched without regard to case */
	int sys;
} phrases[] = {
	{ "read-only file system", EROFS },
	{ "permission denied", EACCES },
	{ "operation not permitted", EPERM },
};

/* Quotation marks that programs put around a path. GNU programs use U+2018 and U+2019 in
 * UTF-8 locales; old programs write `...'. */
static const struct {
	const char *open, *close;
} quotes[] = { { "'", "'" }, { "\"", "\"" }, { "\u2018", "\u2019" }, { "`", "'" } };

struct found {
	struct stderr_denials *list;
	size_t count;
	const char *cwd;
	int sys; /* the errno that belongs to the phrase in the current line */
};

/* --- one path --------------------------------------------------------------------- */

static bool is_text(const char *word, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)word[i] < ' ' || word[i] == 0x7f)
			return false;
	return len > 0 && len < PATH_MAX;
}

static bool is_known(const struct found *f, const char *path)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->list[i].sys == f->sys && strcmp(f->list[i].path, path) == 0)
			return true;
	return false;
}

static void add(struct found *f, const char *word, size_t len)
{
	bool is_relative = len > 0 && *word != '/';

	if (is_relative && len > 2 && strncmp(word, "./", 2) == 0) {
		word += 2;
		len -= 2;
	}
	if (f->count == STDERR_DENIALS_MAX || !is_text(word, len) ||
	    (is_relative && !f->cwd))
		return;
	char *path = is_relative ? text_format("%s/%.*s", f->cwd, (int)len, word)
				 : text_format("%.*s", (int)len, word);
	if (is_known(f, path))
		free(path);
	else
		f->list[f->count++] = (struct stderr_denials){ f->sys, path };
}

/* --- one line --------------------------------------------------------------------- */

/* Finds a lower-case phrase in a line, as strcasestr(3) does, but faster: musl's
 * strcasestr(3) calls strncasecmp(3) at every byte, this function only where the first
 * letter matches. */
static const char *find_phrase(const char *line, const char *phrase)
{
	size_t len = strlen(phrase);

	for (const char *at = line; *at; at++)
		if ((*at | ('a' ^ 'A')) == *phrase && strncasecmp(at, phrase, len) == 0)
			return at;
	return NULL;
}

static const char *phrase_of(const char *line, int *ret_sys)
{
	for (size_t i = 0; i < ARRAY_LEN(phrases); i++) {
		const char *at = find_phrase(line, phrases[i].text);
		if (!at)
			continue;
		*ret_sys = phrases[i].sys;
		return at;
	}
	return NULL;
}

/* Returns the end of the quoted text that begins at `at`, behind the closing quotation
 * mark; NULL: no quoted text begins there. */
static const char *unquote(const char *at, const char **ret_start, size_t *ret_len)
{
	for (size_t i = 0; i < ARRAY_LEN(quotes); i++) {
		size_t width = strlen(quotes[i].open);
		if (strncmp(at, quotes[i].open, width) != 0)
			continue;
		const char *end = strstr(at + width, quotes[i].close);
		if (!end)
			continue;
		*ret_start = at + width;
		*ret_len = (size_t)(end - *ret_start);
		return end + strlen(quotes[i].close);
	}
	return NULL;
}

static size_t trimmed(const char *word, size_t len)
{
	while (len > 0 && strchr(":,;.)]", word[len - 1]))
		len--;
	return len;
}

/* Returns whether the word is the name of an errno and a colon, such as "EROFS:", as
 * Node.js prints it in front of a message. */
static bool is_errno(const char *word, size_t len)
{
	return *word == 'E' && strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == len - 1;
}

/* Takes an unquoted word as a path if it begins with '/', or if it stands between the
 * program's name and the phrase, as "x" in "rm: x: Permission denied". */
static void take_word(struct found *f, const char *line, const char *word, size_t len,
		      const char *phrase)
{
	bool is_before = word > line && word + len < phrase && word[len - 1] == ':' &&
			 word + len + 1 == phrase && !is_errno(word, len);

	if (*word == '/' || is_before)
		add(f, word, trimmed(word, len));
}

/* Looks for paths in one line. A quotation mark counts only at the beginning of a word,
 * so that the apostrophe in "can't" does not. */
static void take_line(struct found *f, const char *line)
{
	const char *phrase = phrase_of(line, &f->sys), *quoted;
	size_t len;

	for (const char *at = line; phrase && *at;) {
		at += strspn(at, " \t(");
		const char *behind = unquote(at, &quoted, &len);
		if (behind) {
			add(f, quoted, len);
		} else {
			len = strcspn(at, " \t(");
			behind = at + len;
			if (len > 0)
				take_word(f, line, at, len, phrase);
		}
		at = behind;
	}
}

static bool is_break(char byte)
{
	return byte == '\n' || byte == '\r' || byte == '\0';
}

/* Returns the start of the line that ends at `end`. */
static size_t line_start(const char *text, size_t end)
{
	while (end > 0 && !is_break(text[end - 1]))
		end--;
	return end;
}

size_t stderr_denials_find(const void *text, size_t len, const char *cwd,
		       struct stderr_denials ret[static STDERR_DENIALS_MAX])
{
	struct found f = { .list = ret, .cwd = cwd };
	if (len == 0) /* `text` may be NULL if it is empty */
		return 0;
	size_t most = len < STDERR_DENIALS_TEXT_MAX ? len : STDERR_DENIALS_TEXT_MAX;
	const char *all = (const char *)text + len - most;
	bool is_cut = len > most && !is_break(all[-1]);
	char line[LINE + 1];

	for (size_t end = most, start; end > 0; end = start > 0 ? start - 1 : 0) {
		start = line_start(all, end);
		if (end - start > LINE || (start == 0 && is_cut))
			continue;
		memcpy(line, all + start, end - start);
		line[end - start] = '\0';
		take_line(&f, line);
	}
	return f.count;
}

void stderr_denials_done(struct stderr_denials *c, size_t count)
{
	for (size_t i = 0; i < count; i++)
		own_free(&c[i].path);
}
