#include "sandbox/cgroup/scope_bus.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <systemd/sd-bus.h>

#include "base/clock.h"
#include "base/own.h"

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

/* --- messages --------------------------------------------------------------------------- */

#define SET_BYTES 128 /* bits 0 to 1023: processors, or memory nodes */

enum form { NUMBER, SET };

static const struct property {
	const char *name;
	enum form form;
} known[] = {
	{ "MemoryMax", NUMBER },	  { "MemoryLow", NUMBER },
	{ "MemorySwapMax", NUMBER },	  { "TasksMax", NUMBER },
	{ "CPUWeight", NUMBER },	  { "CPUQuotaPerSecUSec", NUMBER },
	{ "CPUQuotaPeriodUSec", NUMBER }, { "IOWeight", NUMBER },
	{ "AllowedCPUs", SET },		  { "AllowedMemoryNodes", SET },
};

static const struct property *find(const char *word, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (strlen(known[i].name) == len && !strncmp(known[i].name, word, len))
			return &known[i];
	return NULL;
}

static int refuse(const char *word)
{
	(void)fprintf(stderr, "hutch-scope does not take the property '%.100s'\n", word);
	return -EINVAL;
}

/* Reads a number of decimal digits and nothing else in front; *ret_end is behind it. */
static bool read_number(const char *text, uint64_t *ret, char **ret_end)
{
	errno = 0;
	*ret = strtoull(text, ret_end, 10);
	return isdigit((unsigned char)*text) && !errno;
}

static bool read_set(const char *text, uint8_t set[SET_BYTES], size_t *ret_len)
{
	char *at = (char *)text;

	*ret_len = 0;
	for (;;) {
		uint64_t first, last;
		if (!read_number(at, &first, &at))
			return false;
		last = first;
		if (*at == '-' && !read_number(at + 1, &last, &at))
			return false;
		if (first > last || last >= 8 * SET_BYTES)
			return false;
		for (uint64_t i = first; i <= last; i++)
			set[i / 8] |= (uint8_t)(1u << (i % 8));
		*ret_len = last / 8 + 1 > *ret_len ? last / 8 + 1 : *ret_len;
		if (!*at)
			return true;
		if (*at++ != ',')
			return false;
	}
}

static int append_number(sd_bus_message *m, const struct property *p, const char *word)
{
	const char *text = word + strlen(p->name) + 1;
	uint64_t value = UINT64_MAX;
	char *end = NULL;

	if (strcmp(text, "infinity") != 0 && (!read_number(text, &value, &end) || *end))
		return refuse(word);
	return sd_bus_message_append(m, "(sv)", p->name, "t", value);
}

static int append_set(sd_bus_message *m, const struct property *p, const char *word)
{
	uint8_t set[SET_BYTES] = { 0 };
	size_t len;

	if (!read_set(word + strlen(p->name) + 1, set, &len))
		return refuse(word);
	int r = sd_bus_message_open_container(m, 'r', "sv");
	if (r >= 0)
		r = sd_bus_message_append(m, "s", p->name);
	if (r >= 0)
		r = sd_bus_message_open_container(m, 'v', "ay");
	if (r >= 0)
		r = sd_bus_message_append_array(m, 'y', set, len);
	if (r >= 0)
		r = sd_bus_message_close_container(m);
	return r < 0 ? r : sd_bus_message_close_container(m);
}

static int append_all(sd_bus_message *m, char *const *words)
{
	int r = 0;

	for (; words && *words && r >= 0; words++) {
		const size_t len = strcspn(*words, "=");
		const struct property *p = (*words)[len] ? find(*words, len) : NULL;
		r = !p		     ? refuse(*words)
		    : p->form == SET ? append_set(m, p, *words)
				     : append_number(m, p, *words);
	}
	return r;
}

static int fill_start(sd_bus_message *m, const struct scope_unit *u)
{
	int r = sd_bus_message_append(m, "ss", u->name, "fail");

	if (r >= 0)
		r = sd_bus_message_open_container(m, 'a', "(sv)");
	if (r >= 0)
		r = sd_bus_message_append(m, "(sv)(sv)(sv)(sv)", "Description", "s",
					  u->description, "PIDs", "au", 1, u->pid,
					  "Delegate", "b", 1, "CollectMode", "s",
					  "inactive-or-failed");
	if (r >= 0 && u->slice)
		r = sd_bus_message_append(m, "(sv)(sv)", "Slice", "s", u->slice,
					  "DefaultDependencies", "b", 0);
	if (r >= 0)
		r = append_all(m, u->properties);
	if (r >= 0)
		r = sd_bus_message_close_container(m);
	return r < 0 ? r : sd_bus_message_append(m, "a(sa(sv))", 0);
}

static int fill_set(sd_bus_message *m, const struct scope_unit *u)
{
	int r = sd_bus_message_append(m, "sb", u->name, 1);

	if (r >= 0)
		r = sd_bus_message_open_container(m, 'a', "(sv)");
	if (r >= 0)
		r = append_all(m, u->properties);
	return r < 0 ? r : sd_bus_message_close_container(m);
}

int scope_bus_fill(struct sd_bus_message *m, enum scope_method method,
		   const struct scope_unit *u)
{
	switch (method) {
	case SCOPE_START:
		return fill_start(m, u);
	case SCOPE_SET:
		return fill_set(m, u);
	case SCOPE_STOP:
		break;
	}
	return sd_bus_message_append(m, "ss", u->name, "replace");
}

/* Sends the request.  A scope that is gone has stopped. */
static int send(sd_bus *bus, sd_bus_message *request, struct job *job)
{
	sd_bus_message *answer = NULL;
	sd_bus_error error = SD_BUS_ERROR_NULL;
	const char *path = NULL, *method = sd_bus_message_get_member(request);

	int r = sd_bus_call(bus, request, PATIENCE_US, &error, &answer);
	if (r >= 0 && sd_bus_message_has_signature(answer, "o"))
		r = sd_bus_message_read(answer, "o", &path);
	if (path)
		(void)snprintf(job->path, sizeof(job->path), "%s", path);
	if (!strcmp(method, "StopUnit") &&
	    sd_bus_error_has_name(&error, MANAGER ".NoSuchUnit"))
		r = 0;
	if (r < 0)
		(void)fprintf(stderr, "%s: %s\n", method,
			      error.message ? error.message : strerror(-r));
	sd_bus_error_free(&error);
	sd_bus_message_unref(answer);
	return r;
}

static int call(sd_bus *bus, enum scope_method method, const struct scope_unit *u,
		struct job *job)
{
	static const char *const names[] = {
		[SCOPE_START] = "StartTransientUnit",
		[SCOPE_SET] = "SetUnitProperties",
		[SCOPE_STOP] = "StopUnit",
	};
	sd_bus_message *request = NULL;

	int r = sd_bus_message_new_method_call(bus, &request, MANAGER, PATH, INTERFACE,
					       names[method]);
	if (r < 0)
		(void)failed(names[method], r);
	else
		r = scope_bus_fill(request, method, u);
	if (r >= 0)
		r = send(bus, request, job);
	sd_bus_message_unref(request);
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

/* Calls the method, and waits for the end of its job if it has one. */
static int act(sd_bus *bus, enum scope_method method, const struct scope_unit *u)
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
	if (call(bus, method, u, &job) < 0)
		return 1;
	return *job.path ? wait_for(bus, &job) : 0;
}

int scope_bus_act(bool is_system, enum scope_method method, const struct scope_unit *u)
{
	sd_bus *bus = NULL;

	int r = is_system ? sd_bus_open_system(&bus) : sd_bus_open_user(&bus);
	if (r < 0)
		return failed(is_system ? "connect to the system's bus"
					: "connect to the user's bus",
			      r);
	const int status = act(bus, method, u);
	sd_bus_flush_close_unref(bus);
	return status;
}
