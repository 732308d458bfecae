/* config -- config.json of an OCI bundle, read into typed and bounded values.
 *
 * The format is that of the runtime specification 1.3 (config.md, config-linux.md).
 * Texts are borrowed from the document, which the configuration owns.  A feature that
 * this runtime does not have is an error that names it, never a silent loss. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"
#include "oci/hooks.h"
#include "oci/process.h"
#include "policy/json/json.h"
#include "sandbox/kernel/idmap.h"

struct err;

enum config_space {
	SPACE_USER,
	SPACE_PID,
	SPACE_NETWORK,
	SPACE_IPC,
	SPACE_UTS,
	SPACE_MOUNT,
	SPACE_CGROUP,
	SPACE_TIME,
	SPACE_COUNT
};

struct config_space_use {
	bool is_listed;	  /* the container has a namespace of its own, or joins one */
	const char *path; /* the namespace to join; NULL: a new one */
};

struct config_mount {
	const char *target, *type, *source; /* NULL: not given */
	struct list options;		    /* owned */
	struct idmap *uids, *gids;	    /* owned: the mount's own id maps */
	size_t uid_count, gid_count;
};

struct config_device {
	const char *path;
	mode_t mode; /* with its type */
	uint32_t uid, gid;
	dev_t device;
};

/* The clocks of a time namespace (time_namespaces(7)). */
enum config_clocks { CLOCK_OF_MONOTONIC, CLOCK_OF_BOOTTIME, CLOCK_COUNT };

struct config_clock {
	bool is_set;
	int64_t secs;
	uint32_t nanosecs;
};

struct config_pair {
	const char *key, *value;
};

struct config {
	char *text; /* owned: the file */
	size_t len;
	struct json *doc; /* owned */
	const char *version;
	char *root; /* owned: the root's absolute path */
	bool is_root_readonly;
	const char *hostname, *domainname; /* NULL: none */
	bool has_process;
	struct process process;
	struct config_mount *mounts; /* owned */
	size_t mount_count;
	struct hooks hooks;
	struct config_pair *annotations; /* owned */
	size_t annotation_count;

	struct config_space_use spaces[SPACE_COUNT];
	struct idmap *uids, *gids; /* owned */
	size_t uid_count, gid_count;
	struct config_device *devices; /* owned */
	size_t device_count;
	struct list masked, readonly; /* owned */
	struct config_pair *sysctls;  /* owned */
	size_t sysctl_count;
	struct config_clock clocks[CLOCK_COUNT]; /* timeOffsets */
	unsigned long propagation; /* MS_* of rootfsPropagation; 0: none given */
	const char *cgroups_path, *mount_label; /* NULL: none */
	const char *domain; /* personality(2): "LINUX", "LINUX32"; NULL: none */
	struct json_at resources, seccomp; /* "no value": none */
};

/* Reads `path`; `bundle` is the absolute path that root.path is relative to.  On failure
 * *ret is the zero object. */
int config_read(const char *path, const char *bundle, struct config *ret, struct err *e);
void config_done(struct config *c);

/* Returns the value of an annotation, or NULL. */
const char *config_annotation(const struct config *c, const char *key);

/* The part of config_read() that is in config_linux.c: the `linux` object. */
int config_read_linux(const struct json_at *at, struct config *ret, struct err *e);
/* Reads an object's members, whose values are texts, into pairs. */
int config_read_pairs(const struct json_at *at, const char *key, struct config_pair **ret,
		      size_t *ret_count, struct err *e);
/* Reads an array of id maps. */
int config_read_maps(const struct json_at *at, const char *key, struct idmap **ret,
		     size_t *ret_count, struct err *e);
