/* ignore -- the paths that .dockerignore leaves out of a context
 * (docs.docker.com, "Build context", ".dockerignore files";
 * moby/patternmatcher).
 *
 * Each line is a pattern: '*' is any text without '/', '?' one letter except
 * '/', [a-z] and [^a-z] a class, '\' quotes the next letter, "**" is any number
 * of folders.  Slashes around a pattern mean nothing; a line that begins with
 * '#' is a comment.  A pattern that matches a folder matches everything below
 * it; a '!' in front makes the pattern an exception to the lines above; the
 * last matching line decides.
 *
 * The patterns are matched here and not by executor/search/glob.h, whose language is that
 * of bash: in docker's, "*" and "**" match hidden names, too, "**" may be a part of a
 * name, "!" in a class and braces are ordinary characters, and a class without an end
 * matches nothing. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct err;

#define IGNORE_PATTERNS 4096

struct ignore {
	struct ignore_rule {
		char *pattern; /* owned */
		bool brings_back;
	} * rules; /* owned */
	size_t count;
	bool brings_back; /* a line with '!' exists, which excepts files from being
			   * ignored */
};

/* Reads the rules of .dockerignore.  The zero object ignores nothing.  `name` names
 * the file in messages. */
int ignore_read(const char *text, size_t len, const char *name, struct ignore *ret,
		struct err *e);
void ignore_done(struct ignore *i);

/* Returns whether the path is ignored; `path` is relative, without "." and "..". */
bool ignore_has(const struct ignore *i, const char *path);

/* Returns whether `folder` and everything below it is ignored, as no rule has a '!'. */
bool ignore_has_all_below(const struct ignore *i, const char *folder);

/* Matches one pattern with a whole path. */
bool pattern_matches(const char *pattern, const char *path);

/* Returns whether the text has a character that is special in a pattern. */
bool pattern_is_one(const char *text);
