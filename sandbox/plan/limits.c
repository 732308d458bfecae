#include "sandbox/plan/limits.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>

#include "base/err.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/policy.h"
#include "policy/units.h"
#include "sandbox/plan/plan.h"

#define SIZE	  "size="
#define UNSIZED	  "size=25%"

/* The size of the tmpfs for commands' output logs (executor/session/output_log.h).  The
 * executor writes these logs, so they do not count against the commands' cgroup;
 * therefore they get only a small part of the memory that the sandbox may use. */
#define LOGS_SIZE  (256ull << 20)
#define LOGS_SHARE 8
#define LOGS_FILES 1024
#define FILES_MAX (1u << 20)

/* A tmpfs may hold one file for each BYTES_PER_FILE bytes of its size.  That is a page,
 * the least that a file with content takes. */
#define BYTES_PER_FILE 4096
#define FILES_MIN      1024

/* Returns whether the step makes a tmpfs whose size is chosen here.  The tmpfs at /dev
 * is excluded, since it holds device nodes only. */
static bool is_tmpfs(const struct step *s)
{
	return (s->kind == STEP_ROOT || s->kind == STEP_OVERLAY ||
		s->kind == STEP_TMPFS) &&
	       s->data && !strncmp(s->data, SIZE, strlen(SIZE)) &&
	       strcmp(s->target, "/dev");
}

static uint64_t quarter_of_machine(void)
{
	struct sysinfo info;

	return sysinfo(&info) < 0 ? UINT64_MAX
				  : (uint64_t)info.totalram * info.mem_unit / 4;
}

static uint64_t size_of(const struct step *s)
{
	AUTO_FREE char *text = text_copy(s->data + strlen(SIZE));
	uint64_t bytes;

	text[strcspn(text, ",")] = '\0';
	return units_parse_bytes(text, &bytes, NULL) < 0 ? quarter_of_machine() : bytes;
}

/* Sets the size of a tmpfs, and drops the step's other options but the mode. */
static void set_size(struct step *s, uint64_t bytes)
{
	const char *mode = strstr(s->data, ",mode=");
	uint64_t files = bytes / BYTES_PER_FILE + FILES_MIN;
	char *data =
		text_format(SIZE "%llu,nr_inodes=%llu%s", (unsigned long long)bytes,
			    (unsigned long long)(files < FILES_MAX ? files : FILES_MAX),
			    mode ? mode : "");

	free(s->data);
	s->data = data;
}

static void bound(struct step *s, const struct limits *l, uint64_t share)
{
	bool is_private = s->kind != STEP_TMPFS ||
			  !strncmp(s->data, UNSIZED, strlen(UNSIZED));
	uint64_t size = size_of(s);

	if (l->disk && is_private && l->disk < size)
		size = l->disk;
	if (share < size)
		size = share;
	set_size(s, size);
}

/* Divides the memory that all tmpfs together may take.  That is 7/16 of --memory: half
 * of it, less an eighth of that half for SysV segments and message queues. */
static void plan_sizes(struct plan *p, const struct limits *l)
{
	size_t count = 0;

	for (size_t i = 0; i < p->count; i++)
		count += is_tmpfs(&p->steps[i]);
	uint64_t share = l->memory && count ? l->memory / 16 * 7 / count : UINT64_MAX;
	for (size_t i = 0; i < p->count; i++)
		if (is_tmpfs(&p->steps[i]))
			bound(&p->steps[i], l, share);
}

void limits_plan_logs(struct plan *p, const struct policy *policy)
{
	uint64_t size = LOGS_SIZE, share = policy->limits.memory / LOGS_SHARE;

	if (policy->limits.memory && share < size)
		size = share;
	struct step *s = plan_add(p, STEP_LOGS, LIMITS_LOGS);
	/* the folder of the output logs belongs to the executor, even if another process
	 * makes the folder */
	s->data = p->has_ranges
			  ? text_format(SIZE "%llu,nr_inodes=%d,mode=0755,uid=%d,gid=%d",
					(unsigned long long)size, LOGS_FILES, EXECUTOR_ID,
					EXECUTOR_ID)
			  : text_format(SIZE "%llu,nr_inodes=%d,mode=0755",
					(unsigned long long)size, LOGS_FILES);
}

void limits_plan(struct plan *p, const struct policy *policy)
{
	if (policy->limits.memory || policy->limits.disk)
		plan_sizes(p, &policy->limits);
	if (policy_wants_cgroup(policy))
		plan_add(p, STEP_CGROUP, LIMITS_CGROUP);
}

int limits_show_cgroup(struct plan *p, const char *path, struct err *e)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return err_sys(e, "stat %.300s", path);
	for (size_t i = 0; i < p->count; i++) {
		struct step *s = &p->steps[i];
		if (s->kind != STEP_CGROUP)
			continue;
		s->source = text_copy(path);
		s->attr = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
			  MOUNT_ATTR_NOEXEC;
		s->dev = st.st_dev;
		s->ino = st.st_ino;
		s->is_dir = true;
	}
	return 0;
}

void limits_count_processes(struct plan *p, uint64_t pids)
{
	for (uint32_t i = 0; i < p->rlimit_count; i++) {
		struct exec_rlimit *r = &p->rlimits[i];
		if (r->resource != RLIMIT_NPROC)
			continue;
		r->soft = r->soft < pids + 1 ? r->soft : pids + 1;
		r->hard = r->hard < pids + 1 ? r->hard : pids + 1;
	}
}
