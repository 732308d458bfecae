/* subids -- finds a user with a range of subordinate ids, for a unit test.
 * Include it behind cmocka.h. */
#pragma once
#include <grp.h>
#include <pwd.h>

#include "sandbox/kernel/idmap.h"
#include "tests/unit/scene.h"

static inline bool subids_of(const struct passwd *pw, struct idmaps *ret)
{
	struct subid_owner owner;
	struct err e;

	if (!pw || !pw->pw_uid)
		return false;
	owner = (struct subid_owner){ pw->pw_name, pw->pw_uid };
	return idmaps_find(ret, &owner, pw->pw_gid, &e) == 0;
}

/* Finds the caller's range or, as root, the first user with a range.  Skips the test
 * if there is none. */
static inline void subids_find(struct idmaps *ret, uid_t *ret_uid, gid_t *ret_gid)
{
	const struct passwd *pw = getpwuid(geteuid());
	bool is_found = access("/usr/bin/newuidmap", X_OK) == 0 && subids_of(pw, ret);

	setpwent();
	if (geteuid() == 0 && access("/usr/bin/newuidmap", X_OK) == 0)
		while (!is_found && (pw = getpwent()))
			is_found = subids_of(pw, ret);
	if (!is_found) {
		print_message("skipped: nobody here has a range in /etc/subuid\n");
		skip();
	}
	*ret_uid = pw->pw_uid;
	*ret_gid = pw->pw_gid;
}
