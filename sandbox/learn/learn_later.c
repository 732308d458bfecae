#include "sandbox/learn/learn_later.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/own.h"
#include "policy/policy_file.h"
#include "policy/protect.h"

/* Names in a home directory that programs outside of the sandbox later run, or read
 * as their configuration.  They are added to the names that the policy `agent`
 * protects, most of which are found in projects. */
static const char *const of_a_home[] = {
	".local/bin",
	"bin",
	".vimrc",
	".vim",
	".config/nvim",
	".emacs",
	".emacs.d",
	".npmrc",
	".inputrc",
	".tmux.conf",
	".screenrc",
	".xinitrc",
	".xsession",
	".xsessionrc",
	".pam_environment",
	".config/environment.d",
	".local/share/systemd",
	".local/share/applications",
	".cargo/config.toml",
	".cargo/bin",
	".pythonstartup",
	".local/lib",
	".gitignore_global",
	"/var/spool/cron",
	"/etc/cron.d",
	"/etc/crontab",
};

struct protect *learn_later_names(void)
{
	struct list patterns = { 0 };

	policy_file_protected("agent", &patterns);
	for (size_t i = 0; i < ARRAY_LEN(of_a_home); i++)
		list_add(&patterns, of_a_home[i]);
	struct protect *names = protect_new(&patterns);
	list_done(&patterns);
	return names;
}

static enum protected find(const struct protect *names, const char *path)
{
	return protect_find(names, path + strspn(path, "/"), NULL);
}

/* Returns the path of the first name that the policy `agent` protects and that exists
 * in `folder`; names with wildcards are not tried.  Allocated; NULL: there is none. */
static char *find_in(const char *folder)
{
	struct list patterns = { 0 };
	char *found = NULL;

	policy_file_protected("agent", &patterns);
	for (size_t i = 0; i < patterns.count && !found; i++) {
		AUTO_FREE char *path = text_format("%s/%s", folder, patterns.items[i]);
		if (!strpbrk(patterns.items[i], "*?") && access(path, F_OK) == 0)
			found = text_copy(path);
	}
	list_done(&patterns);
	return found;
}

char *learn_later(const struct protect *names, const char *path, bool is_folder)
{
	AUTO_FREE char *real = realpath(path, NULL);
	enum protected is = find(names, path),
		       really = real ? find(names, real) : PROTECTED_NOT;

	is = really > is ? really : is; /* the path as it was used and the real path
					 * are both judged, and the stronger result
					 * counts */
	if (is == PROTECTED_YES || (is == PROTECTED_ABOVE && is_folder))
		return text_copy(path);
	return is_folder ? find_in(path) : NULL;
}
