/* policy -- what a user asks for.
 *
 * The flags of `hutch run` become one of these, and nothing else does: what a
 * launch may do is decided here, checked by policy_check(), and turned into a
 * plan by the sandbox side.  A policy knows nothing of the host it will run
 * on.  Strings are owned.  `from` is always the words of the caller, such as
 * "-v /a:/b", for messages. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

struct err;
struct publish;

enum image_kind { IMAGE_HOST, IMAGE_DIR, IMAGE_STORE };
enum pull { PULL_MISSING, PULL_ALWAYS, PULL_NEVER };
enum network { NETWORK_NONE, NETWORK_HOST };
enum idmap_mode { IDMAP_SINGLE, IDMAP_RANGES };
enum isolation { ISOLATION_AUTO, ISOLATION_NAMESPACES, ISOLATION_LANDLOCK }; /* isolation.h */
enum fence_mode { FENCE_AUTO, FENCE_ON, FENCE_OFF };

enum volume_kind {
	VOLUME_BIND,	  /* -v */
	VOLUME_WORKSPACE, /* --workspace: a bind at /workspace */
	VOLUME_TOOLCHAIN, /* --toolchain: a read-only bind at its own path */
	VOLUME_TMPFS	  /* --tmpfs */
};

struct volume {
	enum volume_kind kind;
	char *source; /* as typed; NULL for a tmpfs */
	char *target; /* absolute, normalized: no //, /./, /../, no final / */
	bool is_writable;
	bool is_cow;   /* writable, and the host's folder stays as it is */
	uint64_t size; /* bytes, tmpfs only; 0: the default */
	char *from;
};

struct ulimit {
	int resource; /* RLIMIT_* */
	uint64_t soft, hard;
	char *from;
};

#define POLICY_MAX_ULIMITS 16

/* What a whole sandbox may use; 0: as much as it likes. */
struct limits {
	uint64_t memory; /* --memory: bytes */
	uint64_t disk;	 /* --disk: bytes */
	uint64_t pids;	 /* --pids-limit: processes and threads */
	uint32_t cpus;	 /* --cpus: in thousandths of one */
};

struct policy {
	enum image_kind image;
	char *image_path; /* IMAGE_DIR: as typed; IMAGE_STORE: the reference, as typed */
	enum pull pull;	  /* IMAGE_STORE: --pull */
	char *entrypoint; /* IMAGE_STORE: --entrypoint; "": none; NULL: the image's */
	char *upper;	  /* --upper DIR, as typed; NULL: nothing is kept */
	bool keeps;	  /* --keep: what is written over an image outlives the sandbox */
	struct volume *volumes;
	size_t volume_count, volume_room;
	bool is_resolved; /* image_path, upper and all sources have no links: follow none */

	struct publish *publishes; /* -p (publish.h) */
	size_t publish_count;

	struct list env_set;   /* -e, --secret and their files, in order: KEY=VALUE */
	struct list secrets;   /* --secret and --secret-file: the names */
	struct list argv;      /* the command */
	char *workdir;	       /* -w; NULL: the default */
	char *user;	       /* -u; NULL: the default */
	char *hostname;	       /* --hostname; NULL: "hutch" */
	char *seccomp;	       /* --seccomp FILE; NULL: the default profile */
	char *audit;	       /* --audit: "on", "off" or a folder as typed; NULL: off */
	struct list rules;     /* --rule: their texts (rules.h) */
	struct list protects;  /* --protect: patterns (protect.h) */
	bool protects_missing; /* --protect-missing: where they are not there, too */

	enum isolation isolation;
	enum fence_mode fence; /* --landlock */
	enum network network;
	enum idmap_mode idmap;
	uint64_t cap_add, cap_drop; /* bit N: capability N */
	bool drops_all_caps;	    /* --cap-drop ALL */
	struct ulimit ulimits[POLICY_MAX_ULIMITS];
	size_t ulimit_count;
	uint64_t timeout_ms; /* 0: none */

	struct limits limits;
	char *cgroup_parent; /* --cgroup-parent, as typed; NULL: found */
	bool is_best_effort; /* --best-effort */

	bool takes_actions;   /* hutch act: there is no command */
	bool lints;	      /* --lint */
	bool is_interactive;  /* -i */
	bool has_terminal;    /* -t */
	bool is_read_only;    /* --read-only */
	bool inherits_stdio;  /* --stdio inherit */
};

void policy_init(struct policy *p);
void policy_done(struct policy *p);

/* Kernel interfaces that must be the sandbox's own: a mount over them could redirect what
 * programs, or we, write to them (runc CVE-2019-16884).  Which one a mount at `target`
 * would be in, or NULL. */
const char *policy_own_place(const char *target);

/* Adds an empty volume of that kind and returns it; `from` is copied. */
struct volume *policy_add_volume(struct policy *p, enum volume_kind kind,
				 const char *from);

/* Of the first `count` volumes those go whose target a later one has. */
void policy_prefer(struct policy *p, size_t count);

/* What no single flag can see: duplicate targets, targets where nothing may be
 * mounted, a user that the id map does not have, a name that is no hostname, a
 * limit on disk with a folder that has none, what the rung has not (isolation.h). */
int policy_check(const struct policy *p, struct err *e);

/* Whether a cgroup is wanted: a limit that only it can hold, or a place for one. */
bool policy_wants_cgroup(const struct policy *p);

/* The ids inside.  "root" or 0, "agent" or 1000, and with ranges any number up
 * to 65535, also as UID:GID.  A NULL user gives the image's default.  Not for an image
 * of the store, which has users of its own (sandbox/stock.h). */
int policy_user(const struct policy *p, uint32_t *ret_uid, uint32_t *ret_gid,
		struct err *e);
