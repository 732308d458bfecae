/* volume -- the words behind -v, --workspace, --toolchain and --tmpfs. */
#pragma once

struct err;
struct policy;
struct volume;

/* Parses the word behind -v, SRC:DST[:ro|:rw|:cow], as docker does: default rw.  SRC
 * is made absolute when used. */
int volume_parse_bind(struct policy *p, const char *word, struct err *e);
/* Parses the word behind --workspace, DIR[:ro|:rw|:cow], mounted at /workspace. */
int volume_parse_workspace(struct policy *p, const char *word, struct err *e);
/* Parses the word behind --toolchain, DIR, mounted read-only at its own absolute path. */
int volume_parse_toolchain(struct policy *p, const char *word, struct err *e);
/* Parses the word behind --tmpfs, DST[:size=N[k|m|g]]. */
int volume_parse_tmpfs(struct policy *p, const char *word, struct err *e);

/* Returns the text that describes a parsed volume, with `source` as its source;
 * allocated. */
char *volume_word(const struct volume *v, const char *source);

/* Makes an absolute path of a sandbox canonical as text: one slash at a time,
 * no "." and no final slash.  "..", a relative path, an empty one and one of
 * more than PATH_MAX are errors.  *ret is allocated. */
int volume_normalize(const char *path, char **ret, struct err *e);
