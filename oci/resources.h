/* resources -- the resources object of a configuration, as writes to files of a cgroup.
 *
 * Data first: each limit is a file, a text and the member that asked for it.  A limit
 * whose file the cgroup lacks is an error that names the member, unless the value means
 * "no limit". */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct json_at;

/* The limit that kernels since 5.16 lack; some of them take it, and limit nothing. */
#define RESOURCES_KERNEL_MEMORY "memory/memory.kmem.limit_in_bytes"

struct resources_write {
	char *file, *text; /* owned; NULL: cgroup v2 has no file for it alone */
	char *v1,
		*v1_text; /* owned: "CONTROLLER/FILE" of cgroup v1; NULL: there is none */
	char *member;	   /* owned: the member's place, for errors */
	bool is_no_limit;
	bool is_part; /* v2 has it in the file of another limit */
	bool is_bare; /* no limit: asks for a cgroup with v1's controller, where this user may
		       * make one */
};

struct resources_device {
	bool is_allowed;
	char type;	      /* 'a', 'b' or 'c' */
	int64_t major, minor; /* -1: any */
	bool reads, writes, makes;
};

/* The rules for devices that each container has (null, zero, full, random, urandom, tty,
 * console, ptmx and pts), and for making device files, which gives no access. */
#define RESOURCES_ALWAYS 11
extern const struct resources_device resources_always[RESOURCES_ALWAYS];

struct resources {
	struct resources_write *writes; /* owned */
	size_t count, room;
	struct resources_device *devices; /* owned: the last rule that matches decides */
	size_t device_count;
	/* memory.checkBeforeUpdate asks that these limits, of memory, and of memory and
	 * swap, are above what is used; 0: it asks nothing. */
	uint64_t checked_memory, checked_swap;
};

/* Reads the object; "no value" gives no limits. */
int resources_read(const struct json_at *at, struct resources *ret, struct err *e);
void resources_done(struct resources *r);

/* Enables the controllers that the files need, in the cgroup's parents below `root`. */
void resources_enable(const struct resources *r, const char *root, const char *path);
/* Refuses a limit that memory.checkBeforeUpdate guards and that is not above what the cgroup
 * uses, as runc does.  cgroup v2 would take it and kill processes; v1 refuses it itself.
 * `folder` is that in cgroup v2; NULL: none. */
int resources_check(const struct resources *r, const char *folder, struct err *e);
/* Writes the limits to the cgroup, and attaches the device rules.  `folder` is that in
 * cgroup v2, and `v1` the path of those in v1's hierarchies (cgroups_v1.h), which are made
 * where v2 lacks a controller. */
int resources_apply(const struct resources *r, const char *folder, const char *v1,
		    struct err *e);
