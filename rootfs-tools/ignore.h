/* ignore -- what .dockerignore leaves out of a context (docs.docker.com, "Build context",
 * ".dockerignore files"; moby/patternmatcher).
 *
 * A pattern a line: '*' is anything but '/', '?' one such letter, [a-z] and [^a-z] one
 * of these, '\' takes its special meaning from what follows, "**" is any number of
 * folders.  Slashes around it mean nothing; a line that begins with '#' is a comment.
 * What is below a folder that matches matches too; '!' brings back what the lines above
 * it left out; the last one that matches decides. */
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
	bool brings_back; /* one of them does */
};

/* The zero object ignores nothing.  `name` is for messages. */
int ignore_read(const char *text, size_t len, const char *name, struct ignore *ret,
		struct err *e);
void ignore_done(struct ignore *i);

/* `path` is relative, without "." and "..". */
bool ignore_has(const struct ignore *i, const char *path);

/* Whether nothing below an ignored folder can be brought back. */
bool ignore_has_all_below(const struct ignore *i, const char *folder);

/* One pattern against a whole path. */
bool pattern_matches(const char *pattern, const char *path);

/* Whether it has a special letter. */
bool pattern_is_one(const char *text);
