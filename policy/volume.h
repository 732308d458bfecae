/* volume -- parses the values of -v, --workspace, --toolchain and --tmpfs. */
#pragma once

struct err;
struct policy;
struct volume;

/* Parses the value of -v, SRC:DST[:ro|:rw|:cow], as docker does; the default is rw.
 * The path SRC is made absolute later, by the launch. */
int volume_parse_bind(struct policy *p, const char *word, struct err *e);
/* Parses the value of --workspace, DIR[:ro|:rw|:cow], which is mounted at /workspace. */
int volume_parse_workspace(struct policy *p, const char *word, struct err *e);
/* Parses the value of --toolchain, DIR, which is mounted read-only at the same absolute
 * path. */
int volume_parse_toolchain(struct policy *p, const char *word, struct err *e);
/* Parses the value of --tmpfs, DST[:size=N[k|m|g]]. */
int volume_parse_tmpfs(struct policy *p, const char *word, struct err *e);

/* Returns the flag's value that describes the volume, with `source` as its source;
 * allocated. */
char *volume_word(const struct volume *v, const char *source);

/* Makes an absolute path inside a sandbox canonical, as text: single slashes, no "."
 * and no final slash.  An error: "..", a relative or empty path, and a path longer than
 * PATH_MAX.  *ret is allocated. */
int volume_normalize(const char *path, char **ret, struct err *e);
