#include "policy/named_user.h"

#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/units.h"

bool named_user_is(const char *user)
{
	return strchr(user, '=') != NULL;
}

static bool is_name(const char *text, size_t len)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz_";

	return len > 0 && len <= NAMED_USER_MAX && strspn(text, letters) > 0 &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyz_0123456789-") >= len;
}

static int read_id(const char *text, uint32_t *ret)
{
	uint64_t number;

	if (units_parse_number(text, &number, NULL) < 0 || number > INT32_MAX)
		return -1;
	*ret = (uint32_t)number;
	return 0;
}

int named_user_read(const char *user, struct named_user *ret, struct err *e)
{
	const size_t len = strcspn(user, "=");
	AUTO_FREE char *ids = text_copy(user[len] ? user + len + 1 : "");
	char *group = strchr(ids, ':');
	struct named_user u = { .name = "" };

	if (group)
		*group++ = '\0';
	if (!is_name(user, len))
		return err_set(
			e, ERR_USAGE,
			"-u takes NAME=UID[:GID], a name of up to %d small letters, "
			"digits, '_' and '-' that begins with a letter or '_', not "
			"'%.80s'",
			NAMED_USER_MAX, user);
	if (read_id(ids, &u.uid) < 0 || (group && read_id(group, &u.gid) < 0))
		return err_set(e, ERR_USAGE,
			       "-u takes NAME=UID[:GID], numbers up to %d, not '%.80s'",
			       INT32_MAX, user);
	if (!group)
		u.gid = u.uid;
	memcpy(u.name, user, len);
	*ret = u;
	return 0;
}
