/* protect -- names in a folder of the host's that the inside must not change, since
 * programs outside of the sandbox run them later: hooks of git, or an editor's tasks.
 *
 * A pattern is a path of names with "/" between them: ".git/hooks".  It protects the file
 * or folder with that path, and everything below.  The path may begin anywhere in the
 * folder, or with a "/" in front only at its top.  In a name, "*" matches any characters
 * and "?" any one; the name "**" matches any number of names, also none.
 *
 * Names are compared as file systems may compare them.  Equal are: upper and lower case,
 * also of letters that fold to ASCII ones (Unicode, CaseFolding.txt, C and F); names with
 * and without ignored characters (Default_Ignorable_Code_Point); names with and without
 * dots or spaces at their end.  Short names of DOS (GIT~1) are not covered. */
#pragma once
#include <stddef.h>

struct err;
struct list;

#define PROTECT_MAX	  256  /* the most patterns */
#define PROTECT_BYTES_MAX 1024 /* the most bytes in one pattern */
#define PROTECT_NAMES_MAX 32   /* the most names in one pattern */

enum protected {
	PROTECTED_NOT,
	PROTECTED_AMONG, /* protected paths may be below the path, by a "**" */
	PROTECTED_ABOVE, /* protected paths are below the path: ".git", with
			  * ".git/hooks" protected */
	PROTECTED_YES	 /* the path is protected, or is below a protected path */
};

/* Checks that the text is a valid pattern. */
int protect_check(const char *pattern, struct err *e);

struct protect;

/* Compiles patterns that have been checked. */
struct protect *protect_new(const struct list *patterns);
void protect_free(struct protect *p);

/* Says how `path`, below the folder and without "." and "..", relates to the patterns.
 * *ret (may be NULL): the pattern that decides, borrowed; untouched if none does. */
enum protected protect_find(const struct protect *p, const char *path, const char **ret);
