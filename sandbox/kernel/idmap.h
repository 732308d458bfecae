/* idmap -- the host ids that the ids of the sandbox's user namespace stand for. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

struct idmap {
	uint32_t inside, outside, count;
};

#define IDMAP_MAX   4
#define IDMAP_AGENT 1000 /* with --idmap ranges, the id inside that stands for the
			  * caller's */
#define IDMAP_ABOVE 65536 /* with --idmap ranges, the executor's id, one above those
			   * that commands have */

/* The map of user ids and the map of group ids of a user namespace. */
struct idmaps {
	struct idmap uids[IDMAP_MAX], gids[IDMAP_MAX];
	size_t uid_count, gid_count;
};

/* Maps one id inside to one id outside, which a process may write into its own
 * maps without privilege (user_namespaces(7)). */
size_t idmap_single(struct idmap *ret, uint32_t inside, uint32_t outside);

/* A user whose subordinate ids are looked for: a line of /etc/subuid has the user's
 * name or number, as for newuidmap(1). */
struct subid_owner {
	const char *name; /* borrowed; NULL: passwd(5) has no name for the user */
	uid_t uid;
};

/* Maps `kept`, whose `outside` is the caller's own id, and every other id from 0 to
 * 65535 and IDMAP_ABOVE, each of which stands for an id of the range of subordinate
 * ids that `file` (/etc/subuid or /etc/subgid) grants to `owner`.  Returns the
 * number of maps, 0 on failure.  A range that begins with host id 0 is passed over. */
size_t idmap_ranges(struct idmap ret[IDMAP_MAX], const char *file,
		    const struct subid_owner *owner, struct idmap kept, struct err *e);

/* Installs one map of the user namespace that this process is in: `file` is
 * "uid_map" or "gid_map" of /proc/self.  For gid_map, setgroups must have been
 * denied before (user_namespaces(7)). */
int idmap_write_own(const char *file, const struct idmap *map, struct err *e);
int idmap_deny_setgroups(struct err *e);

/* Denies setgroups, then writes uid_map, then gid_map: the kernel refuses gid_map
 * before setgroups is denied. */
int idmap_write_both(const struct idmap *uid, const struct idmap *gid, struct err *e);

/* --- ranges ----------------------------------------------------------------------- */

/* Finds the maps with the ranges of `owner`, whose group is `gid`, for --idmap ranges. */
int idmaps_find(struct idmaps *ret, const struct subid_owner *owner, gid_t gid,
		struct err *e);

/* Returns a word that says all that the maps depend on, and that may be the name of
 * a folder: "UID.GID.START.START", where a START is the first id of a range.
 * Allocated. */
char *idmaps_print(const struct idmaps *m);
/* Parses a word of idmaps_print().  The ranges are not looked up: newuidmap checks
 * them. */
int idmaps_parse(const char *text, struct idmaps *ret, struct err *e);

/* Installs the maps of process `pid` through the setuid helper newuidmap or
 * newgidmap (`program`), which checks them against /etc/subuid or /etc/subgid. */
int idmap_write_helper(const char *program, pid_t pid, const struct idmap *maps,
		       size_t count, struct err *e);

/* Installs both maps of process `pid`. */
int idmaps_write(const struct idmaps *m, pid_t pid, struct err *e);

/* Let a child wait on a pipe until it has its maps.  idmaps_install() is called in
 * the parent, and writes to `go` when the maps are installed.  idmaps_await() is
 * called in the child, which closes its own copy of `go` first: with that open, the
 * child would wait for ever once the parent has gone. */
int idmaps_install(const struct idmaps *m, pid_t pid, int go, struct err *e);
int idmaps_await(int ready, int *go, struct err *e);
