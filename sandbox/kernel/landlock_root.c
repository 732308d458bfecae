#include "sandbox/kernel/landlock_root.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/own.h"
#include "sandbox/kernel/landlock.h"

void landlock_root_add(struct landlock_root *f, int fd)
{
	if (fd < 0)
		return;
	if (f->other_count == LANDLOCK_ROOT_OTHERS)
		abort(); /* spawn.c adds at most LANDLOCK_ROOT_OTHERS files */
	f->others[f->other_count++] = fd;
}

/* Makes a rule that allows everything on a file, or on a folder and all below it.  A
 * file that is no folder gets only the rights of files: Landlock refuses a rule that
 * gives it a folder's rights. */
static int allow(int fd, struct landlock_rule *ret, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_sys(e, "stat a file that is to stay open");
	*ret = (struct landlock_rule){
		fd, S_ISDIR(st.st_mode) ? LANDLOCK_ALL : LANDLOCK_OF_FILES,
	};
	return 0;
}

int landlock_root_enter(const struct landlock_root *f, struct err *e)
{
	struct landlock_rule rules[1 + LANDLOCK_ROOT_OTHERS];
	size_t count = 0;

	if (allow(f->root, &rules[count++], e) < 0)
		return -1;
	for (size_t i = 0; i < f->other_count; i++)
		if (allow(f->others[i], &rules[count++], e) < 0)
			return -1;
	const unsigned scopes = LANDLOCK_SPARES_SIGNALS | LANDLOCK_SPARES_ABSTRACT;
	const unsigned spares = LANDLOCK_SPARES_TCP | (f->hides_abstract ? 0 : scopes);
	if (landlock_confine(rules, count, spares, e) == 0)
		return 0;
	return err_remedy(e, "--landlock off leaves this second wall out");
}
