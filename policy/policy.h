/* policy -- the settings that a user chose for a launch.
 *
 * A policy holds everything that the flags of `hutch run` can say about a launch.
 * policy_check() checks it, and sandbox/ turns it into a plan.  A policy does not
 * depend on the host that it will run on.  Strings are owned.  `from` is always the
 * flag as the caller wrote it, such as "-v /a:/b", for messages. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "policy/plugin_uses.h"
#include "policy/egress/egress_rules.h"

struct err;
struct named_user;
struct port_spec;

enum image_kind { IMAGE_HOST, IMAGE_DIR, IMAGE_STORE };
enum pull { PULL_MISSING, PULL_ALWAYS, PULL_NEVER };
enum network { NETWORK_NONE, NETWORK_HOST, NETWORK_ALLOW, NETWORK_NS };
enum idmap_mode { IDMAP_SINGLE, IDMAP_RANGES };
enum isolation {
	ISOLATION_AUTO,
	ISOLATION_NAMESPACES,
	ISOLATION_LANDLOCK
}; /* isolation.h */
enum landlock_root_mode { LANDLOCK_ROOT_AUTO, LANDLOCK_ROOT_ON, LANDLOCK_ROOT_OFF };

enum volume_kind {
	VOLUME_BIND,	  /* the volume of -v */
	VOLUME_WORKSPACE, /* --workspace: a bind at /workspace */
	VOLUME_TOOLCHAIN, /* --toolchain: a read-only bind at its own path */
	VOLUME_TMPFS	  /* the volume of --tmpfs */
};

struct volume {
	enum volume_kind kind;
	char *source; /* the source as typed; NULL for a tmpfs */
	char *target; /* the path of the volume inside the sandbox: absolute, no //,
		       * /./, /../, no final / */
	bool is_writable;
	bool is_found; /* the folder of a plugin that hutch has found by its name; it may
			 * lie in hutch's own store */
	bool is_cow;   /* copy-on-write: commands can write, and the host's folder stays
			* unchanged */
	uint64_t size; /* size in bytes, of a tmpfs only; 0: the default */
	char *from;
};

struct ulimit {
	int resource; /* the limit that is set, RLIMIT_* */
	uint64_t soft, hard;
	char *from;
};

#define POLICY_MAX_ULIMITS 16

/* The limits of a whole sandbox; 0 means no limit. */
struct limits {
	uint64_t memory; /* --memory: bytes */
	uint64_t disk;	 /* --disk: bytes */
	uint64_t pids;	 /* --pids-limit: processes and threads */
	uint32_t cpus;	 /* --cpus: in thousandths of a CPU */
};

struct policy {
	enum image_kind image;
	char *image_path; /* IMAGE_DIR: the path, IMAGE_STORE: the reference; both as
			   * typed */
	bool is_image_writable; /* IMAGE_DIR: dir:PATH:rw, writes go to that folder */
	enum pull pull;	  /* IMAGE_STORE: --pull */
	char *entrypoint; /* IMAGE_STORE: --entrypoint; "": none; NULL: the image's */
	char *upper;	  /* --upper DIR for written files, as typed; NULL: they are not
			   * kept */
	bool keeps;	  /* --keep: the sandbox's written files stay, so it can be
			   * started again */
	struct volume *volumes;
	size_t volume_count, volume_room;
	bool is_resolved; /* image_path, upper and all sources were resolved by
			   * realpath(3); they must contain no symbolic link now */

	struct port_spec *publishes; /* the ports of -p (port_spec.h) */
	size_t publish_count;

	struct list env_set;   /* variables of -e, --secret and their files, in order:
			        * KEY=VALUE */
	struct list secrets;   /* the names given by --secret and --secret-file */
	struct list argv;      /* the command to run */
	char *workdir;	       /* the working directory of -w; NULL: the default */
	char *user;	       /* the user of -u; NULL: the default */
	char *hostname;	       /* --hostname; NULL: "hutch" */
	char *seccomp;	       /* --seccomp FILE; NULL: the default profile */
	char *name;	       /* --name: the name of the kept changes; NULL: they have
			        * the sandbox's, or one that hutch makes */
	char *audit;	       /* --audit: "on", "off" or a folder as typed; NULL: off */
	struct list rules;     /* the texts of --rule (rules.h) */
	struct list joins;     /* the networks of --network-join (sandbox_name.h) */
	struct list egress;    /* the rules of --allow in JSON, in order (egress_policy.h) */
	struct egress_rules egress_rules; /* the same rules, read; owned */
	struct list add_hosts; /* the values of --add-host (extra_host.h) */
	struct list labels;    /* of --label: KEY=VALUE each (label.h) */
	struct list plugins;   /* the values of --plugin */
	struct plugin_uses plugin_uses; /* the same, looked up; owned */
	struct list protects;  /* the patterns of --protect (protect.h) */
	bool protects_missing; /* --protect-missing: protects also names that do not
			        * exist yet */

	enum isolation isolation;
	enum landlock_root_mode landlock_root; /* --landlock */
	enum network network;
	bool has_network_flag; /* --network was given as a flag: rules do not change the
				* network */
	char *netns; /* NETWORK_NS: "ns:PATH", as typed; else of no meaning */
	enum idmap_mode idmap;
	uint64_t cap_add, cap_drop; /* bit N stands for capability N */
	bool drops_all_caps;	    /* --cap-drop ALL */
	bool is_nesting;	    /* --nesting */
	struct ulimit ulimits[POLICY_MAX_ULIMITS];
	size_t ulimit_count;
	uint64_t timeout_ms; /* the time-out; 0: none */

	struct limits limits;
	char *cgroup_parent; /* --cgroup-parent, as typed; NULL: hutch finds one */
	bool is_best_effort; /* --best-effort */

	bool takes_actions;   /* for hutch act, which is given no command */
	bool lints;	      /* --lint */
	bool is_interactive;  /* -i: stdin is passed on */
	bool is_server;	      /* --mcp: refused hosts are told at once, since the command
			       * lasts */
	bool has_terminal;    /* -t: the command gets a terminal */
	bool is_read_only;    /* --read-only */
	bool inherits_stdio;  /* --stdio inherit */
};

void policy_init(struct policy *p);
void policy_done(struct policy *p);

/* Returns the network in the words of --network: "none", "host", "allow" or "ns:PATH". */
const char *policy_network_word(const struct policy *p);

/* Returns the path of NETWORK_NS. */
const char *policy_netns_path(const struct policy *p);

/* Returns whether the sandbox has no network namespace of its own, but is in one that
 * other processes are in, too. */
bool policy_shares_network(const struct policy *p);

/* Takes the value of --network; `word` is not kept. */
int policy_take_network(struct policy *p, const char *word, struct err *e);

/* Returns the kernel interface (such as /proc) in which a mount at `target` would be;
 * NULL: the target is in none.  A mount there could redirect what programs, or hutch
 * itself, write to the interface (runc CVE-2019-16884). */
const char *policy_own_place(const char *target);

/* Adds an empty volume of that kind and returns it; `from` is copied. */
struct volume *policy_add_volume(struct policy *p, enum volume_kind kind,
				 const char *from);

/* Removes each of the first `count` volumes if a volume after it has the same target. */
void policy_prefer(struct policy *p, size_t count);

/* Checks a hostname by RFC 1123: letters, digits and inner hyphens. */
int policy_check_hostname(const char *name, struct err *e);

/* Checks the policy as a whole: duplicate targets, targets where nothing may be
 * mounted, a user that the id map lacks, an invalid hostname, a disk limit for a folder
 * that cannot have one, options that the isolation does not support (isolation.h). */
int policy_check(const struct policy *p, struct err *e);

/* Returns whether the policy needs a cgroup: it sets a limit that only a cgroup can
 * enforce, or --cgroup-parent. */
bool policy_wants_cgroup(const struct policy *p);

/* Returns whether the image's own files define the user (sandbox/plan/image_user.h):
 * those of an image of the store, or of a folder of the host where -u is given. */
bool policy_has_image_user(const struct policy *p);

/* Whether -u is NAME=UID[:GID] and NAME is none of the names that hutch itself writes:
 * *ret then is the user that is added where the image has none of that name. */
bool policy_adds_user(const struct policy *p, struct named_user *ret);

/* Gives the user and group ids inside the sandbox.  A user is "root" or 0, "agent" or
 * 1000, a number, or NAME=UID; with --idmap ranges up to 65535.  A NULL user gives the
 * image's default.  Where policy_has_image_user(), the image's files count and not this. */
int policy_user(const struct policy *p, uint32_t *ret_uid, uint32_t *ret_gid,
		struct err *e);
