#include "sandbox/kernel/host_user.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/note.h"
#include "policy/policy.h"
#include "policy/units.h"
#include "sandbox/kernel/log_level.h"

#define NOBODY 65534

static uint32_t id_from_env(const char *name)
{
	const char *text = getenv(name);
	uint64_t id;

	if (!text || units_parse_number(text, &id, NULL) < 0 || id >= UINT32_MAX)
		return 0;
	return (uint32_t)id;
}

static const struct volume *find_workspace(const struct policy *policy)
{
	for (size_t i = 0; i < policy->volume_count; i++)
		if (policy->volumes[i].kind == VOLUME_WORKSPACE)
			return &policy->volumes[i];
	return NULL;
}

static void decide_for_root(const struct policy *policy, struct host_user *user)
{
	const struct volume *workspace = find_workspace(policy);
	struct stat st;

	*user = (struct host_user){ .uid = id_from_env("SUDO_UID"),
				  .gid = id_from_env("SUDO_GID"),
				  .was_root = true, .why = "SUDO_UID" };
	if (!user->uid && workspace && stat(workspace->source, &st) == 0 && st.st_uid) {
		user->uid = st.st_uid;
		user->gid = st.st_gid;
		user->why = "owner of the workspace";
	}
	if (!user->uid) {
		user->uid = user->gid = NOBODY;
		user->why = "nobody";
	}
	if (!user->gid)
		user->gid = NOBODY;
}

int host_user_decide(const struct policy *policy, struct host_user *ret, struct err *e)
{
	if (geteuid() != getuid() || getegid() != getgid())
		return err_set(e, ERR_REFUSED, "hutch must not be setuid or setgid");
	if (getuid() == 0)
		decide_for_root(policy, ret);
	else
		*ret = (struct host_user){ .uid = getuid(),
					   .gid = getgid(),
					   .why = "caller" };
	return 0;
}

char *host_user_name(uid_t uid)
{
	FILE *users = fopen("/etc/passwd", "re");
	const struct passwd *entry = NULL;

	while (users && (entry = fgetpwent(users)) && entry->pw_uid != uid)
		;
	char *name = entry ? text_copy(entry->pw_name) : NULL;
	if (users)
		(void)fclose(users); /* a failed fclose(3) loses nothing: the file was
				      * only read */
	return name;
}

/* Explains why root cannot become the user.  EINVAL: the user's id is not mapped.
 * EPERM: setgroups is denied, as where an ordinary user has mapped a single id
 * (user_namespaces(7)). */
static int cannot_become(const struct host_user *user, struct err *e)
{
	(void)err_sys(e, "become user %u, for whom root's sandboxes stand (%s)",
		      user->uid, user->why);
	if (e->sys != EINVAL && e->sys != EPERM)
		return -1;
	(void)err_in(
		e, "this root is one of a user namespace in which no such id is mapped");
	return err_remedy(
		e, "run hutch as an ordinary user, or in a container with a range of "
		   "ids");
}

int host_user_become(const struct host_user *user, struct err *e)
{
	if (!user->was_root)
		return 0;
	if (setgroups(0, NULL) < 0 || setresgid(user->gid, user->gid, user->gid) < 0 ||
	    setresuid(user->uid, user->uid, user->uid) < 0)
		return cannot_become(user, e);

	/* The kernel makes a process undumpable when its ids change, and then root
	 * owns its /proc/self, with the id maps in it (proc(5)), which hutch must
	 * write.  Nothing in this process is secret from the new user, so it becomes
	 * dumpable again. */
	if (prctl(PR_SET_DUMPABLE, 1) < 0)
		return err_sys(e, "prctl PR_SET_DUMPABLE");
	return 0;
}

/* Variables that stay in the environment of verbs that speak with a running sandbox.
 * HOME and the XDG variables say where hutch's own folders are; they count only if
 * the user that root becomes owns the folders that they name (store/folders.h). */
static const char *const kept_by_clients[] = {
	"XDG_RUNTIME_DIR", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "HOME",
	LOG_LEVEL_VARIABLE, FORMAT_VARIABLE, NOTE_VARIABLE, NULL,
};

/* Variables that stay in the environment of verbs that manage images.  They say where
 * images are stored and how to download them: by files with credentials, and by a proxy,
 * whose password can be given in no other way.  SOURCE_DATE_EPOCH and the variable after
 * it in the list are for builds. */
static const char *const kept_for_images[] = {
	"XDG_RUNTIME_DIR",
	"XDG_DATA_HOME",
	"XDG_CACHE_HOME",
	"XDG_CONFIG_HOME",
	"HOME",
	"PATH",
	"TERM",
	"DOCKER_CONFIG",
	"REGISTRY_AUTH_FILE",
	"SSL_CERT_FILE",
	"http_proxy",
	"https_proxy",
	"HTTPS_PROXY",
	"all_proxy",
	"ALL_PROXY",
	"no_proxy",
	"NO_PROXY",
	"SOURCE_DATE_EPOCH",
	"OH_RUNTIME_RUNTIME_IMAGE_REPO",
	LOG_LEVEL_VARIABLE,
	FORMAT_VARIABLE,
	NOTE_VARIABLE,
	NULL,
};

static bool is_kept(const char *variable, const char *const *kept)
{
	const size_t len = strcspn(variable, "=");

	for (; *kept; kept++)
		if (strlen(*kept) == len && !strncmp(variable, *kept, len))
			return true;
	return false;
}

/* Removes all variables but `kept` from the environment and overwrites their strings
 * in place, since /proc/PID/environ shows the place where execve(2) has put them
 * (proc(5)). */
static void forget_environment(const char *const *kept)
{
	char **to = environ;

	for (char **at = environ; *at; at++) {
		if (is_kept(*at, kept))
			*to++ = *at;
		else
			explicit_bzero(*at, strlen(*at));
	}
	*to = NULL;
}

void host_user_forget_for_images(void)
{
	forget_environment(kept_for_images);
}

static int become_keeping(const char *const *kept, struct err *e)
{
	const struct policy none = { 0 };
	struct host_user user;

	if (host_user_decide(&none, &user, e) < 0)
		return -1;
	if (user.was_root)
		forget_environment(kept);
	return host_user_become(&user, e);
}

int host_user_become_client(struct err *e)
{
	return become_keeping(kept_by_clients, e);
}

int host_user_as_client(int (*look)(void *arg, struct err *e), void *arg, struct err *e)
{
	const struct policy none = { 0 };
	struct host_user user;

	if (host_user_decide(&none, &user, e) < 0)
		return -1;
	if (!user.was_root)
		return look(arg, e);
	if (setegid(user.gid) < 0 || seteuid(user.uid) < 0)
		return cannot_become(&user, e);
	int result = look(arg, e);
	if (seteuid(0) < 0 || setegid(0) < 0)
		return err_sys(e, "become root again");
	return result;
}

int host_user_become_for_images(struct err *e)
{
	return become_keeping(kept_for_images, e);
}
