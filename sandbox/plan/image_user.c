#include "sandbox/plan/image_user.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/named_user.h"
#include "policy/policy.h"
#include "policy/units.h"
#include "sandbox/plan/image_passwd.h"
#include "sandbox/plan/overlay_lowers.h"

#define IDS_INSIDE 65536

struct search {
	const struct list *lowers;
	const struct policy *policy;
};

void image_user_done(struct image_user *u)
{
	own_free(&u->name);
	own_free(&u->home);
}

void image_user_add(struct image_user *u, const struct named_user *from)
{
	u->uid = from->uid;
	u->gid = from->gid;
	u->name = text_copy(from->name);
	u->home = text_format("/home/%s", from->name);
	u->is_added = true;
}

static bool is_number(const char *text, uint32_t *ret)
{
	uint64_t number;

	if (units_parse_number(text, &number, NULL) < 0 || number > INT32_MAX)
		return false;
	*ret = (uint32_t)number;
	return true;
}

/* Looks an account up in a file of the image.  Returns 1 if it was found, 0 if the image
 * has no such file or the file has no such entry, -1 on failure. */
static int look_up(const struct search *s, const char *file, const char *name,
		   uint32_t id, struct account *ret, struct err *e)
{
	struct stat st;

	AUTO_CLOSE int fd =
		overlay_lowers_open(s->lowers, file, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "open /%s of the image", file);
	if (!S_ISREG(st.st_mode))
		return 0;
	int found = image_passwd_find(fd, name, id, ret, e);
	return found < 0 ? err_in(e, "look for %.60s in /%s of the image",
				  name ? name : "a user", file)
			 : found;
}

static int nobody_so(const char *what, const char *name, const struct policy *p,
		     struct err *e)
{
	(void)err_set(e, ERR_NOT_FOUND, "the image has no %s '%.60s' (%s)", what, name,
		      p->user ? "-u" : "its configuration's User");
	return err_remedy(e, "-u UID:GID needs no names");
}

static int decide_group(struct image_user *u, const char *group, const struct search *s,
			struct err *e)
{
	struct account a;

	if (is_number(group, &u->gid))
		return 0;
	int found = look_up(s, "etc/group", group, 0, &a, e);
	if (found == 0)
		return nobody_so("group", group, s->policy, e);
	u->gid = found > 0 ? a.id : 0;
	return found < 0 ? -1 : 0;
}

/* Sets the user's ids, name and home.  `name` is a user's name or number. */
static int decide_name(struct image_user *u, const char *name, const struct search *s,
		       struct err *e)
{
	struct account a = { 0 };
	bool is_id = is_number(name, &u->uid);
	int found = look_up(s, "etc/passwd", is_id ? NULL : name, u->uid, &a, e);

	if (found < 0)
		return -1;
	if (found == 0 && !is_id)
		return nobody_so("user", name, s->policy, e);
	u->uid = found ? a.id : u->uid;
	u->gid = found ? a.group : 0;
	u->name = text_copy(found ? a.name : name);
	u->home = text_copy(found && a.home[0] ? a.home : "/");
	return 0;
}

/* With --idmap ranges only mapped ids exist inside, so any other id is an
 * error. */
static int check_mapped(const struct image_user *u, const struct policy *p, struct err *e)
{
	if (p->idmap != IDMAP_RANGES || (u->uid < IDS_INSIDE && u->gid < IDS_INSIDE))
		return 0;
	(void)err_set(e, ERR_UNSUPPORTED,
		      "user %u:%u (%s) is not among the ids 0 to %d that "
		      "--idmap ranges maps",
		      u->uid, u->gid, p->user ? "-u" : "the image's User",
		      IDS_INSIDE - 1);
	return err_remedy(e, "leave --idmap out; or name another one with -u");
}

/* Decides it by NAME=UID[:GID]: as the image has NAME, else as the value says. */
static int decide_named(struct image_user *u, const struct search *s, struct err *e)
{
	struct named_user named;
	struct account a = { 0 };

	if (named_user_read(s->policy->user, &named, e) < 0)
		return -1;
	int found = look_up(s, "etc/passwd", named.name, 0, &a, e);
	if (found < 0)
		return -1;
	if (found)
		return decide_name(u, named.name, s, e);
	image_user_add(u, &named);
	return 0;
}

/* Root is not looked up: root's ids are 0 in every image, and most images run as
 * root. */
int image_user_decide(struct image_user *u, const struct list *lowers,
		      const char *of_image, const struct policy *p, struct err *e)
{
	const struct search s = { lowers, p };
	const char *said = p->user ? p->user : of_image;
	AUTO_FREE char *name = text_copy(said && *said ? said : "0");
	char *group = strchr(name, ':');

	if (p->user && named_user_is(p->user) && strncmp(p->user, "root=", 5) != 0)
		return decide_named(u, &s, e) < 0 ? -1 : check_mapped(u, p, e);
	if (p->user && named_user_is(p->user)) {
		name[strlen("root")] = '\0';
		group = NULL;
	}
	if (group)
		*group++ = '\0';
	if (!*name || !strcmp(name, "0") || !strcmp(name, "root")) {
		u->name = text_copy("root");
		u->home = text_copy("/root");
	} else if (decide_name(u, name, &s, e) < 0) {
		return -1;
	}
	if (group && *group && decide_group(u, group, &s, e) < 0)
		return -1;
	return check_mapped(u, p, e);
}

/* Whether the caller asks for hutch's own user, which the image does not have. */
static bool is_agent(const char *said, const struct search *s)
{
	static const char *const words[] = { "agent", "1000", "1000:1000", "agent:agent" };
	const bool is_id = said[0] == '1';
	struct account a;

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (!strcmp(said, words[i]))
			return look_up(s, "etc/passwd", is_id ? NULL : "agent", 1000, &a,
				       NULL) == 0;
	return false;
}

int image_user_decide_dir(struct image_user *u, const struct policy *p, struct err *e)
{
	struct list lowers = { 0 };
	const struct search s = { &lowers, p };
	int result = 0;

	if (access(p->image_path, F_OK) < 0)
		return 0; /* the plan of the root reports it */
	list_add(&lowers, p->image_path);
	if (is_agent(p->user, &s))
		u->uid = u->gid = 1000;
	else
		result = image_user_decide(u, &lowers, NULL, p, e);
	list_done(&lowers);
	return result;
}
