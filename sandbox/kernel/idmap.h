/* idmap -- maps the ids of a sandbox's user namespace to ids of the host. */
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
#define IDMAP_AGENT 1000 /* with --idmap ranges: the id inside that is mapped to the
			  * caller's own id */
#define IDMAP_ABOVE 65536 /* with --idmap ranges: the executor's id inside, one above all
			   * ids of commands */

/* The map of user ids and the map of group ids of a user namespace. */
struct idmaps {
	struct idmap uids[IDMAP_MAX], gids[IDMAP_MAX];
	size_t uid_count, gid_count;
};

/* Maps one id inside to one id outside.  A process may write such a map for itself
 * without privilege (user_namespaces(7)). */
size_t idmap_single(struct idmap *ret, uint32_t inside, uint32_t outside);

/* The user to look for in /etc/subuid and /etc/subgid: a line there begins with the
 * user's name or number, as newuidmap(1) expects it. */
struct subid_owner {
	const char *name; /* borrowed; NULL: passwd(5) has no name for the user */
	uid_t uid;
};

/* Maps every id from 0 to 65535, and IDMAP_ABOVE.  `kept` is the map of one of these ids
 * to the caller's own id; each other id is mapped to a subordinate id that `file`
 * (/etc/subuid or /etc/subgid) grants to `owner`.  A range that begins with host id 0 is
 * skipped.  Returns the number of maps, 0 on failure. */
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

/* Makes the maps for --idmap ranges, from the subordinate ids of `owner`, whose group is
 * `gid`. */
int idmaps_find(struct idmaps *ret, const struct subid_owner *owner, gid_t gid,
		struct err *e);

/* Returns a text that identifies the maps and is fit to be the name of a folder:
 * "UID.GID.START.START", where each START is the first subordinate id of a range.
 * Allocated. */
char *idmaps_print(const struct idmaps *m);
/* Parses a text of idmaps_print().  The ranges are not compared with /etc/subuid and
 * /etc/subgid: newuidmap and newgidmap do that. */
int idmaps_parse(const char *text, struct idmaps *ret, struct err *e);

/* Installs the maps of process `pid` through the setuid helper newuidmap or
 * newgidmap (`program`), which checks them against /etc/subuid or /etc/subgid. */
int idmap_write_helper(const char *program, pid_t pid, const struct idmap *maps,
		       size_t count, struct err *e);

/* Installs both maps of process `pid`. */
int idmaps_write(const struct idmaps *m, pid_t pid, struct err *e);

/* These let a child wait on a pipe until its ids are mapped.  The parent calls
 * idmaps_install(), which writes to the pipe's end `go` when the maps are installed.
 * The child calls idmaps_await(), which first closes the child's own copy of `go`: with
 * that copy open, the child would wait for ever if the parent died. */
int idmaps_install(const struct idmaps *m, pid_t pid, int go, struct err *e);
int idmaps_await(int ready, int *go, struct err *e);
