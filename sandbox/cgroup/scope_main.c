/* hutch-scope PID: moves its caller, a hutch process, into a cgroup of the caller's
 * own.
 *
 * hutch-scope asks the systemd user manager, over the user's bus, for a transient
 * scope with the caller in it and Delegate=yes: from then on the manager leaves the
 * cgroups below the scope alone, and removes the scope when its last process is
 * gone.  hutch-scope returns when the manager reports the end of the job
 * (JobRemoved), since the process is not moved before that.  On failure it prints
 * one sentence on stderr. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include <systemd/sd-bus.h>

#include "base/clock.h"

#define MANAGER	  "org.freedesktop.systemd1"
#define PATH	  "/org/freedesktop/systemd1"
#define INTERFACE "org.freedesktop.systemd1.Manager"

/* The time to wait for the manager, which takes a second or two while it starts a
 * session. */
#define PATIENCE_US 15000000

struct job {
	char path[256];	  /* D-Bus path of the job that moves the caller */
	char removed[64]; /* the job's result: "done", "failed", ...; empty: the job
			   * runs */
	char early[8][256], how[8][64]; /* jobs that ended before `path` was known, and
					 * their results */
	unsigned count;
};

static int failed(const char *what, int sys)
{
	(void)fprintf(stderr, "%s: %s\n", what, strerror(-sys));
	return 1;
}

/* Handles JobRemoved(id, job, unit, result).  The signal about our own job may come
 * before the answer that names the job. */
static int on_removed(sd_bus_message *m, void *data, sd_bus_error *error)
{
	struct job *job = data;
	const char *path, *unit, *result;
	uint32_t id;

	(void)error;
	if (sd_bus_message_read(m, "uoss", &id, &path, &unit, &result) < 0)
		return 0;
	if (*job->path && !strcmp(job->path, path)) {
		(void)snprintf(job->removed, sizeof(job->removed), "%s", result);
	} else if (!*job->path) {
		unsigned at = job->count++ % 8;
		(void)snprintf(job->early[at], sizeof(job->early[at]), "%s", path);
		(void)snprintf(job->how[at], sizeof(job->how[at]), "%s", result);
	}
	return 0;
}

static int fill_in(sd_bus_message *m, uint32_t pid)
{
	uint64_t random;
	char name[64];

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -errno;
	(void)snprintf(name, sizeof(name), "hutch-%u-%016llx.scope", pid,
		       (unsigned long long)random);
	int r = sd_bus_message_append(m, "ss", name, "fail");
	if (r >= 0)
		r = sd_bus_message_append(m, "a(sv)", 4,
					  "Description", "s", "a sandbox of hutch",
					  "PIDs", "au", 1, pid,
					  "Delegate", "b", 1,
					  "CollectMode", "s", "inactive-or-failed");
	return r < 0 ? r : sd_bus_message_append(m, "a(sa(sv))", 0);
}

static int start_unit(sd_bus *bus, uint32_t pid, struct job *job)
{
	sd_bus_message *request = NULL, *answer = NULL;
	sd_bus_error error = SD_BUS_ERROR_NULL;
	const char *path;

	int r = sd_bus_message_new_method_call(bus, &request, MANAGER, PATH, INTERFACE,
					       "StartTransientUnit");
	if (r >= 0)
		r = fill_in(request, pid);
	if (r >= 0)
		r = sd_bus_call(bus, request, PATIENCE_US, &error, &answer);
	if (r >= 0)
		r = sd_bus_message_read(answer, "o", &path);
	if (r >= 0)
		(void)snprintf(job->path, sizeof(job->path), "%s", path);
	else
		(void)fprintf(stderr, "StartTransientUnit: %s\n",
			      error.message ? error.message : strerror(-r));
	sd_bus_error_free(&error);
	sd_bus_message_unref(request);
	sd_bus_message_unref(answer);
	return r;
}

static int wait_for(sd_bus *bus, struct job *job)
{
	const int64_t end = clock_us() + PATIENCE_US;

	for (unsigned i = 0; i < job->count && i < 8; i++)
		if (!strcmp(job->early[i], job->path))
			memcpy(job->removed, job->how[i], sizeof(job->removed));
	while (!*job->removed) {
		int r = sd_bus_process(bus, NULL);
		if (r < 0)
			return failed("read from the bus", r);
		if (r > 0)
			continue;
		int64_t now = clock_us();
		if (now >= end)
			return failed("wait for the scope", -ETIMEDOUT);
		r = sd_bus_wait(bus, (uint64_t)(end - now));
		if (r < 0 && r != -EINTR)
			return failed("wait for the bus", r);
	}
	if (!strcmp(job->removed, "done"))
		return 0;
	(void)fprintf(stderr, "the scope's job ended as '%s'\n", job->removed);
	return 1;
}

static int enter(sd_bus *bus, uint32_t pid)
{
	struct job job = { 0 };

	int r = sd_bus_match_signal(bus, NULL, MANAGER, PATH, INTERFACE, "JobRemoved",
				    on_removed, &job);
	if (r < 0)
		return failed("listen for JobRemoved", r);
	/* The manager sends JobRemoved only while it has a subscriber. */
	r = sd_bus_call_method(bus, MANAGER, PATH, INTERFACE, "Subscribe", NULL, NULL,
			       NULL);
	if (r < 0)
		return failed("subscribe to the manager", r);
	return start_unit(bus, pid, &job) < 0 ? 1 : wait_for(bus, &job);
}

int main(int argc, char **argv)
{
	sd_bus *bus = NULL;

	/* Only the parent process is moved: any other pid could be stale, and belong
	 * to another process by now. */
	if (argc != 2 || atoi(argv[1]) != (int)getppid() || getppid() == 1) {
		(void)fprintf(stderr,
			      "hutch-scope is run by hutch, with its process id\n");
		return 1;
	}
	int r = sd_bus_open_user(&bus);
	if (r < 0)
		return failed("connect to the user's bus", r);
	int status = enter(bus, (uint32_t)getppid());
	sd_bus_flush_close_unref(bus);
	return status;
}
