/* protect -- names in a folder of the host's that the inside is not to change: what runs
 * later and outside of the sandbox, such as a hook of git or an editor's tasks.
 *
 * A pattern is a path of names, "/" between them: ".git/hooks".  It is about what has that
 * path, and all below it.  It may be anywhere in the folder, or with a "/" in front only
 * at its top.  In a name "*" is any characters and "?" any one; the name "**" is any names,
 * also none.
 *
 * A name counts as another one where a file system may take it for that: upper case for
 * lower case, also of letters that fold to ASCII ones (Unicode, CaseFolding.txt, C and F),
 * with characters that are ignored in it (Default_Ignorable_Code_Point), with dots or
 * spaces at its end.  Not: short names of DOS (GIT~1). */
#pragma once
#include <stddef.h>

struct err;
struct list;

#define PROTECT_MAX	  256  /* patterns */
#define PROTECT_BYTES_MAX 1024 /* of one */
#define PROTECT_NAMES_MAX 32   /* in one */

enum protected {
	PROTECTED_NOT,
	PROTECTED_AMONG, /* it may lead to some, by a "**" */
	PROTECTED_ABOVE, /* it leads to some: ".git", with ".git/hooks" protected */
	PROTECTED_YES	 /* it is, or is below one */
};

/* Whether it is a pattern. */
int protect_check(const char *pattern, struct err *e);

struct protect;

/* Of patterns that have been checked. */
struct protect *protect_new(const struct list *patterns);
void protect_free(struct protect *p);

/* What `path`, below the folder and without "." and "..", is to them.  *ret (may be NULL):
 * by which pattern, borrowed; not touched if by none. */
enum protected protect_find(const struct protect *p, const char *path, const char **ret);
