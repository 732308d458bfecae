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
#define IDMAP_AGENT 1000 /* with ranges, the caller's id inside */
#define IDMAP_ABOVE 65536 /* with ranges, one more than commands have */

/* Both maps of a user namespace. */
struct idmaps {
	struct idmap uids[IDMAP_MAX], gids[IDMAP_MAX];
	size_t uid_count, gid_count;
};

/* Maps one id inside to one id outside, which a process may write into its own
 * maps without privilege (user_namespaces(7)). */
size_t idmap_single(struct idmap *ret, uint32_t inside, uint32_t outside);

/* A user whose ranges are looked for: a line has the name or the number, as for
 * newuidmap(1). */
struct subid_owner {
	const char *name; /* borrowed; NULL: passwd(5) has none */
	uid_t uid;
};

/* Maps `kept`, whose `outside` is the caller's own id; every other id from 0 to
 * 65535, and IDMAP_ABOVE, stands for one out of the range of subordinate ids
 * that `file` (/etc/subuid or /etc/subgid) grants to `owner`.  Returns the
 * number of maps, 0 on failure.  A range that begins with host id 0 is passed
 * over. */
size_t idmap_ranges(struct idmap ret[IDMAP_MAX], const char *file,
		    const struct subid_owner *owner, struct idmap kept, struct err *e);

/* Installs one map from inside: `file` is "uid_map" or "gid_map" of
 * /proc/self.  For gid_map, setgroups must have been denied before. */
int idmap_write_own(const char *file, const struct idmap *map, struct err *e);
int idmap_deny_setgroups(struct err *e);

/* Writes both maps, in the one order that the kernel takes. */
int idmap_write_both(const struct idmap *uid, const struct idmap *gid, struct err *e);

/* --- ranges ----------------------------------------------------------------------- */

/* Finds the maps with ranges of `owner`, whose group is `gid`. */
int idmaps_find(struct idmaps *ret, const struct subid_owner *owner, gid_t gid,
		struct err *e);

/* All that the maps depend on, in a word that may be the name of a folder:
 * "UID.GID.START.START", where the ranges begin.  Allocated. */
char *idmaps_print(const struct idmaps *m);
/* Parses such a word.  Does not look the ranges up: newuidmap does. */
int idmaps_parse(const char *text, struct idmaps *ret, struct err *e);

/* Installs maps through the setuid helper newuidmap or newgidmap
 * (`program`), which checks them against /etc/subuid or /etc/subgid. */
int idmap_write_helper(const char *program, pid_t pid, const struct idmap *maps,
		       size_t count, struct err *e);

/* Installs both maps, on `pid`. */
int idmaps_write(const struct idmaps *m, pid_t pid, struct err *e);

/* For a child that waits on a pipe until it has its maps.  The first is called
 * in its parent; the second in the child, which closes `go` first, or it would
 * wait for itself once the parent has gone. */
int idmaps_install(const struct idmaps *m, pid_t pid, int go, struct err *e);
int idmaps_await(int ready, int *go, struct err *e);
