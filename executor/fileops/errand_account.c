#include "executor/fileops/errand.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/account.h"
#include "base/own.h"
#include "executor/files/files_parts.h"
#include "protocol/message.h"

/* Looks up a user as docker does. The user is given as a name, or else as a number,
 * which need not be in passwd. If the request names a group, that is the only one;
 * otherwise the groups are that of the user's line in passwd, and all that list the user
 * as a member. */

enum { PASSWD, GROUP, FILES };

struct person {
	struct account account;
	bool is_listed; /* the user has a line in passwd */
	uint32_t groups[EXEC_MAX_GROUPS];
	size_t group_count;
};

static const char *const names[FILES] = { [PASSWD] = "passwd", [GROUP] = "group" };

/* Opens passwd or group for reading. -2: there is no such file, which counts as an empty
 * one; -1: opening failed, and the error is reported. */
static int open_file(struct errand *x, int which)
{
	struct stat st;
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%.4000s/%s", x->path,
		       names[which]); /* the name fits behind 4000 bytes */
	AUTO_CLOSE int fd =
		files_at(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return -2;
	if (fd < 0 || fstat(fd, &st) < 0)
		return errand_fail(x, names[which], errno);
	if (files_is_of_process(fd))
		return errand_fail(x, names[which], EACCES);
	return S_ISREG(st.st_mode) ? fd_take(&fd) : -2;
}

/* Finds a line by a name or a number. 1: *ret is filled in; 0: there is no such line, or
 * no such file; -1: reading failed. */
static int find(struct errand *x, int which, const char *text, struct account *ret)
{
	uint32_t id = 0;
	bool is_id = account_id(text, &id);
	AUTO_CLOSE int fd = open_file(x, which);

	if (fd == -1)
		return -1;
	if (fd >= 0 && account_read(fd, is_id ? NULL : text, id, ret))
		return 1;
	*ret = (struct account){ .id = id };
	return is_id ? 0 : errand_fail(x, names[which], ENOENT);
}

/* Finds the user. The name "root" is accepted even if passwd does not have it. */
static int find_user(struct errand *x, struct person *p)
{
	int found = find(x, PASSWD, x->ask->other, &p->account);

	if (found < 0 && x->end.outcome == OUTCOME_NOT_FOUND &&
	    !strcmp(x->ask->other, "root")) {
		x->end = (struct returned){ 0 };
		found = 0;
	}
	p->is_listed = found > 0;
	return found;
}

static int find_group(struct errand *x, struct person *p)
{
	struct account group;
	int found = find(x, GROUP, x->ask->include, &group);

	p->account.group = group.id;
	return found;
}

static int find_groups(struct errand *x, struct person *p)
{
	AUTO_CLOSE int fd = p->is_listed ? open_file(x, GROUP) : -2;

	if (fd == -1)
		return -1;
	if (fd >= 0)
		p->group_count = account_groups(fd, p->account.name, p->groups,
						EXEC_MAX_GROUPS);
	return p->group_count <= EXEC_MAX_GROUPS
		       ? 0 : errand_refuse(x, "the user is in more than 64 groups");
}

static void tell(struct errand *x, const struct person *p)
{
	char line[ACCOUNT_TEXT + 16];
	const struct {
		const char *key;
		uint32_t id;
	} own[] = { { "uid", p->account.id }, { "gid", p->account.group } };

	for (size_t i = 0; i < 2; i++)
		(void)errand_line(x, line, (size_t)snprintf(line, sizeof(line), "%s %u",
							    own[i].key, own[i].id));
	for (size_t i = 0; i < p->group_count; i++)
		(void)errand_line(
			x, line,
			(size_t)snprintf(line, sizeof(line), "group %u", p->groups[i]));
	if (p->account.name[0])
		(void)errand_line(x, line, (size_t)snprintf(line, sizeof(line), "name %s",
							    p->account.name));
	if (p->account.home[0])
		(void)errand_line(x, line, (size_t)snprintf(line, sizeof(line), "home %s",
							    p->account.home));
}

void errand_account(struct errand *x)
{
	struct person p = { 0 };

	if (find_user(x, &p) < 0 ||
	    (x->ask->include[0] ? find_group(x, &p) : find_groups(x, &p)) < 0)
		return;
	tell(x, &p);
}
