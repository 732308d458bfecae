/* process -- the `process` object of a configuration, also as `exec --process` has it. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

struct err;
struct json_at;

/* The five sets of capabilities(7). */
enum process_caps {
	CAPS_BOUNDING,
	CAPS_EFFECTIVE,
	CAPS_INHERITABLE,
	CAPS_PERMITTED,
	CAPS_AMBIENT,
	CAPS_COUNT
};

struct process_rlimit {
	int resource;
	uint64_t soft, hard;
};

struct process {
	struct list args, env; /* owned */
	const char *cwd;
	bool has_terminal;
	uint32_t rows, cols; /* the terminal's size; 0: the kernel's default */
	uint32_t uid, gid;
	uint32_t umask;	  /* UINT32_MAX: as it is */
	uint32_t *groups; /* owned */
	size_t group_count;
	bool keeps_groups; /* the caller's groups stay, and `groups` are not set */
	bool no_new_privs;
	bool has_caps;
	uint64_t caps[CAPS_COUNT];
	/* the last name that this program does not know; the command lacks that capability.
	 * NULL: there is none */
	const char *unknown_cap;
	struct process_rlimit *rlimits; /* owned */
	size_t rlimit_count;
	bool has_oom_score;
	int64_t oom_score;
	const char *apparmor, *selinux; /* NULL: none */
	bool has_io_priority, has_scheduler;
	uint32_t io_class, io_level;
	uint32_t policy, sched_flags;
	int64_t nice, priority;
	uint64_t runtime, deadline, period;
	const char *cpus; /* execCPUAffinity.final; NULL: none */
};

/* Reads the object.  Texts are borrowed from its document. */
int process_read(const struct json_at *at, struct process *ret, struct err *e);
/* Warns of a capability that the command will lack, since its name is unknown. */
void process_warn(const struct process *p);
void process_done(struct process *p);
