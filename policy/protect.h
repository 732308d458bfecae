/* protect -- names in folders of the host that commands in the sandbox must not change,
 * since programs outside run or read them later: hooks of git, or an editor's tasks.
 *
 * A pattern is a path of names with "/" between them, such as ".git/hooks".  It
 * protects each file or folder whose path ends with these names, and everything in it;
 * a pattern that begins with "/" matches only from the top of the shown folder.  In a
 * name, "*" matches any characters and "?" any one; the name "**" matches any number of
 * names, even none.
 *
 * Names are compared as some file systems compare them.  Differences in case are
 * ignored, also for letters that fold to ASCII ones (Unicode, CaseFolding.txt, C and
 * F), and so are invisible characters (Default_Ignorable_Code_Point) and dots or spaces
 * at the end of a name.  Short names of DOS (GIT~1) are not recognized. */
#pragma once
#include <stddef.h>

struct err;
struct list;

#define PROTECT_MAX	  256  /* the most patterns */
#define PROTECT_BYTES_MAX 1024 /* the most bytes in one pattern */
#define PROTECT_NAMES_MAX 32   /* the most names in one pattern */

enum protected {
	PROTECTED_NOT,
	PROTECTED_AMONG, /* a "**" of a pattern may match further names, so protected
			  * paths may be anywhere below the path */
	PROTECTED_ABOVE, /* the path leads to a protected one, as ".git" to
			  * ".git/hooks" */
	PROTECTED_YES	 /* the path is protected, or is below a protected path */
};

/* Checks that the text is a valid pattern. */
int protect_check(const char *pattern, struct err *e);

struct protect;

/* Compiles patterns that have been checked. */
struct protect *protect_new(const struct list *patterns);
void protect_free(struct protect *p);

/* Tells how `path` relates to the patterns; the path is relative to the shown folder
 * and has no "." and "..".  *ret (may be NULL) is the pattern that decides, borrowed;
 * untouched if no pattern does. */
enum protected protect_find(const struct protect *p, const char *path, const char **ret);
