#include "sandbox/kernel/idmap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "base/worker.h"

#define SUBIDS_MAX (1u << 20)
#define IDS_INSIDE 65536 /* ids 0 to 65535, which programs of every distribution expect
			  * to exist */

size_t idmap_single(struct idmap *ret, uint32_t inside, uint32_t outside)
{
	*ret = (struct idmap){ .inside = inside, .outside = outside, .count = 1 };
	return 1;
}

static bool is_about(const char *line, size_t len, const struct subid_owner *owner)
{
	char number[16];

	/* any 32-bit number fits */
	(void)snprintf(number, sizeof(number), "%u", owner->uid);
	return (strlen(number) == len && !strncmp(line, number, len)) ||
	       (owner->name && strlen(owner->name) == len &&
		!strncmp(line, owner->name, len));
}

/* Parses a line "USER:START:COUNT" of /etc/subuid or /etc/subgid.  False: the line
 * is not about `owner`, or its range is too small. */
static bool matches(const char *line, const struct subid_owner *owner,
		    uint32_t *ret_start)
{
	const size_t len = strcspn(line, ":\n");
	unsigned long long start, count;

	if (line[len] != ':' || !is_about(line, len, owner))
		return false;
	if (sscanf(line + len + 1, "%20llu:%20llu", &start, &count) != 2)
		return false;
	if (count < IDS_INSIDE || count > UINT32_MAX || start == 0 ||
	    start > UINT32_MAX - count)
		return false;
	*ret_start = (uint32_t)start;
	return true;
}

static int read_subids(const char *file, char **ret_text, struct err *e)
{
	size_t len;

	AUTO_CLOSE int fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, "open %s", file);
	return io_read_file(fd, file, SUBIDS_MAX, ret_text, &len, e);
}

/* Returns the first id, from `from` on, that lies above all ranges in the file: this id
 * and all above it are granted to no user. */
static unsigned long long behind_all(const char *file, unsigned long long from)
{
	AUTO_FREE char *text = NULL;
	unsigned long long start, count;

	if (read_subids(file, &text, NULL) < 0)
		return from;
	for (char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (sscanf(line, "%*[^:\n]:%20llu:%20llu", &start, &count) == 2 &&
		    start < UINT32_MAX && count < UINT32_MAX && start + count > from)
			from = start + count;
	}
	return from;
}

/* Advises to grant a range that is free: two users with the same range could read
 * each other's files.  usermod(8) takes names only; the files take numbers as well. */
static int advise_range(const char *file, const struct subid_owner *owner, struct err *e)
{
	unsigned long long start = behind_all(file, 100000);

	start = behind_all("/etc/subgid", behind_all("/etc/subuid", start));
	if (!owner->name)
		return err_remedy(
			e, "as root: echo %u:%llu:%d | tee -a /etc/subuid /etc/subgid",
			owner->uid, start, IDS_INSIDE);
	return err_remedy(
		e, "as root: usermod --add-subuids %llu-%llu --add-subgids %llu-%llu %s",
		start, start + IDS_INSIDE - 1, start, start + IDS_INSIDE - 1,
		owner->name);
}

static int find_range(const char *file, const struct subid_owner *owner,
		      uint32_t *ret_start, struct err *e)
{
	AUTO_FREE char *text = NULL;

	if (read_subids(file, &text, e) < 0)
		return e->sys == ENOENT ? advise_range(file, owner, e) : -1;
	for (char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (matches(line, owner, ret_start))
			return 0;
	}
	AUTO_FREE char *number = text_format("%u", owner->uid);
	(void)err_set(e, ERR_NOT_FOUND, "%s grants no range of %d ids to %s", file,
		      IDS_INSIDE, owner->name ? owner->name : number);
	return advise_range(file, owner, e);
}

/* Maps 65536 subordinate ids, from host id `start` on.  The id `kept.inside` stands for
 * the caller's own id instead of a subordinate one; the subordinate id that this saves
 * becomes the executor's. */
static size_t lay_out(struct idmap ret[IDMAP_MAX], uint32_t start, struct idmap kept)
{
	size_t n = 0;

	if (kept.inside > 0)
		ret[n++] = (struct idmap){ 0, start, kept.inside };
	ret[n++] = kept;
	ret[n++] = (struct idmap){ kept.inside + 1, start + kept.inside,
				   IDS_INSIDE - kept.inside - 1 };
	ret[n++] = (struct idmap){ IDMAP_ABOVE, start + IDS_INSIDE - 1, 1 };
	return n;
}

size_t idmap_ranges(struct idmap ret[IDMAP_MAX], const char *file,
		    const struct subid_owner *owner, struct idmap kept, struct err *e)
{
	uint32_t start = 0;

	if (find_range(file, owner, &start, e) < 0)
		return (void)err_in(e, "--idmap ranges"), 0;
	return lay_out(ret, start, kept);
}

int idmaps_find(struct idmaps *ret, const struct subid_owner *owner, gid_t gid,
		struct err *e)
{
	const struct idmap own_uid = { IDMAP_AGENT, owner->uid, 1 },
			   own_gid = { IDMAP_AGENT, gid, 1 };

	ret->uid_count = idmap_ranges(ret->uids, "/etc/subuid", owner, own_uid, e);
	if (ret->uid_count == 0)
		return -1;
	ret->gid_count = idmap_ranges(ret->gids, "/etc/subgid", owner, own_gid, e);
	return ret->gid_count == 0 ? -1 : 0;
}

char *idmaps_print(const struct idmaps *m)
{
	return text_format("%u.%u.%u.%u", m->uids[1].outside, m->gids[1].outside,
			   m->uids[0].outside, m->gids[0].outside);
}

static bool may_start(uint32_t start)
{
	return start > 0 && start <= UINT32_MAX - IDS_INSIDE;
}

int idmaps_parse(const char *text, struct idmaps *ret, struct err *e)
{
	unsigned uid, gid, uids, gids;
	char more;

	if (strspn(text, "0123456789.") != strlen(text) || strlen(text) > 43 ||
	    sscanf(text, "%10u.%10u.%10u.%10u%c", &uid, &gid, &uids, &gids, &more) != 4 ||
	    !uid || !gid || !may_start(uids) || !may_start(gids))
		return err_set(e, ERR_USAGE, "'%.60s' does not say which ids are mapped",
			       text);
	ret->uid_count = lay_out(ret->uids, uids, (struct idmap){ IDMAP_AGENT, uid, 1 });
	ret->gid_count = lay_out(ret->gids, gids, (struct idmap){ IDMAP_AGENT, gid, 1 });
	return 0;
}

int idmap_write_own(const char *file, const struct idmap *map, struct err *e)
{
	char path[64], line[64];

	(void)snprintf(path, sizeof(path), "/proc/self/%s", file);
	(void)snprintf(line, sizeof(line), "%u %u %u\n", map->inside, map->outside,
		       map->count);
	return io_write_proc(AT_FDCWD, path, line, e);
}

int idmap_deny_setgroups(struct err *e)
{
	return io_write_proc(AT_FDCWD, "/proc/self/setgroups", "deny", e);
}

int idmap_write_both(const struct idmap *uid, const struct idmap *gid, struct err *e)
{
	if (idmap_deny_setgroups(e) < 0 || idmap_write_own("uid_map", uid, e) < 0)
		return -1;
	return idmap_write_own("gid_map", gid, e);
}

/* The folders in which newuidmap(1) and newgidmap(1) are looked for.  Both are setuid
 * root, so the caller's PATH must not decide which program is run. */
static const char *const places[] = { "/usr/bin", "/bin", "/usr/local/bin" };

static void run_helper(const char *program, struct list *argv)
{
	char *env[] = { NULL };

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		char path[64];
		(void)snprintf(path, sizeof(path), "%s/%s", places[i], program);
		(void)execve(path, argv->items, env); /* execve(2) returns only on
						       * failure; the next folder is
						       * tried then */
	}
	_exit(errno == ENOENT ? 127 : 126);
}

/* Tells whether all ids of the machine are mapped in this user namespace
 * (user_namespaces(7)). */
static bool has_every_id(void)
{
	unsigned inside = 1, outside = 1, count = 0;
	char line[64] = "";

	AUTO_CLOSE int fd = open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || io_read_full(fd, line, sizeof(line) - 1) <= 0)
		return true; /* if the map cannot be read, assume so: the caller then
			      * looks for other causes */
	return sscanf(line, "%u %u %u", &inside, &outside, &count) == 3 && inside == 0 &&
	       outside == 0 && count == UINT32_MAX;
}

/* Explains why the setuid program newuidmap or newgidmap has no rights: its file lacks
 * the setuid bit, this process has no_new_privs, which no execve(2) undoes, or the ids
 * to be mapped do not exist in this user namespace. */
static int explain_helper(const char *program, struct err *e)
{
	char path[64];
	struct stat st;

	if (!has_every_id()) {
		(void)err_in(
			e,
			"hutch is in a user namespace already, which has only some ids");
		return err_remedy(
			e, "start hutch outside of it, or give the outer container as "
			   "many ids as /etc/subuid and /etc/subgid grant in it");
	}
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) {
		(void)err_in(e,
			     "no_new_privs is set on this process, so no setuid program "
			     "works");
		return err_remedy(e,
				  "start hutch without setpriv --no-new-privs, systemd's "
				  "NoNewPrivileges=, or docker's no-new-privileges");
	}
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", places[i], program);
		if (stat(path, &st) < 0)
			continue;
		/* On Fedora, newuidmap has a file capability instead of the setuid
		 * bit. */
		if (!(st.st_mode & S_ISUID) &&
		    getxattr(path, "security.capability", NULL, 0) < 0)
			return err_remedy(e, "as root: chmod u+s %s", path);
		break;
	}
	return -1;
}

static int helper_failed(const char *program, int status, struct err *e)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
		(void)err_set(e, ERR_NOT_FOUND, "--idmap ranges needs %s", program);
		return err_remedy(e, "as root: apt install uidmap");
	}
	if (WIFEXITED(status))
		(void)err_set(e, ERR_REFUSED, "%s refused the id map (exit code %d)",
			      program, WEXITSTATUS(status));
	else
		(void)err_set(e, ERR_REFUSED, "%s was ended by signal %d", program,
			      WTERMSIG(status));
	return explain_helper(program, e);
}

int idmap_write_helper(const char *program, pid_t pid, const struct idmap *maps,
		       size_t count, struct err *e)
{
	struct list argv = { 0 };

	list_add(&argv, program);
	list_addf(&argv, "%d", (int)pid);
	for (size_t i = 0; i < count; i++) {
		list_addf(&argv, "%u", maps[i].inside);
		list_addf(&argv, "%u", maps[i].outside);
		list_addf(&argv, "%u", maps[i].count);
	}
	pid_t helper = fork();
	if (helper == 0)
		run_helper(program, &argv);
	list_done(&argv);
	if (helper < 0)
		return err_sys(e, "fork for %s", program);
	const int status = worker_reap(helper);
	return status == 0 ? 0 : helper_failed(program, status, e);
}

int idmaps_write(const struct idmaps *m, pid_t pid, struct err *e)
{
	if (idmap_write_helper("newuidmap", pid, m->uids, m->uid_count, e) < 0)
		return -1;
	return idmap_write_helper("newgidmap", pid, m->gids, m->gid_count, e);
}

int idmaps_install(const struct idmaps *m, pid_t pid, int go, struct err *e)
{
	if (idmaps_write(m, pid, e) < 0)
		return err_in(e, "--idmap ranges");
	return io_write_all(go, "", 1) < 0 ? err_sys(e, "let the child go on") : 0;
}

int idmaps_await(int ready, int *go, struct err *e)
{
	char byte;

	own_close(go);
	if (io_read_full(ready, &byte, 1) != 1)
		return err_set(e, ERR_SYSTEM, "no id maps were installed");
	return 0;
}
