#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/own.h"
#include "oci/args.h"
#include "oci/cgroups_v1.h"
#include "oci/verbs.h"

/* The container's folders in those hierarchies of v1 that count in v2's stead. */
struct folders_v1 {
	char *memory, *pids; /* owned; NULL: v2 counts it */
};

static void take_folder(const char *controller, const char *folder, void *arg)
{
	struct folders_v1 *v1 = arg;

	if (!strcmp(controller, "memory"))
		v1->memory = text_copy(folder);
	else if (!strcmp(controller, "pids"))
		v1->pids = text_copy(folder);
}

/* Reads one number of a file of the cgroup: the first, or the one behind `key`. */
static uint64_t read_number(const char *cgroup, const char *name, const char *key)
{
	AUTO_FREE char *path = text_format("%s/%s", cgroup, name);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[4096];
	const ssize_t n = fd < 0 ? -1 : io_read_full(fd, text, sizeof(text) - 1);

	if (n <= 0)
		return 0; /* without the controller there is no figure */
	text[n] = '\0';
	const char *at = key ? strstr(text, key) : text;
	return at ? strtoull(at + (key ? strlen(key) : 0), NULL, 10) : 0;
}

static void write_memory(struct buffer *b, const char *v2, const char *v1)
{
	const char *folder = v1 ? v1 : v2;
	const char *usage = v1 ? "memory.usage_in_bytes" : "memory.current";
	const char *limit = v1 ? "memory.limit_in_bytes" : "memory.max";

	json_write_open(b, "memory", "{");
	json_write_open(b, "usage", "{");
	json_write_number(b, "usage", (int64_t)read_number(folder, usage, NULL));
	json_write_number(b, "limit", (int64_t)read_number(folder, limit, NULL));
	json_write_close(b, "}}");
}

static void write_pids(struct buffer *b, const char *folder)
{
	json_write_open(b, "pids", "{");
	json_write_number(b, "current",
			  (int64_t)read_number(folder, "pids.current", NULL));
	json_write_number(b, "limit", (int64_t)read_number(folder, "pids.max", NULL));
	json_write_close(b, "}");
}

static char *write_stats(const struct state *s)
{
	struct folders_v1 v1 = { 0 };
	struct buffer b;
	const char *c = s->cgroup;

	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_text(&b, "type", "stats");
	json_write_text(&b, "id", s->id);
	json_write_open(&b, "data", "{");
	json_write_open(&b, "cpu", "{");
	json_write_open(&b, "usage", "{");
	json_write_number(&b, "total",
			  (int64_t)read_number(c, "cpu.stat", "usage_usec ") * 1000);
	json_write_number(&b, "kernel",
			  (int64_t)read_number(c, "cpu.stat", "system_usec ") * 1000);
	json_write_number(&b, "user",
			  (int64_t)read_number(c, "cpu.stat", "user_usec ") * 1000);
	json_write_close(&b, "}}");
	if (s->v1)
		cgroups_v1_each(s->v1, take_folder, &v1);
	write_memory(&b, c, v1.memory);
	write_pids(&b, v1.pids ? v1.pids : c);
	free(v1.memory);
	free(v1.pids);
	json_write_close(&b, "}}\n");
	return json_write_end(&b);
}

int events_verb(const struct globals *g, char **argv, struct err *e)
{
	bool is_once = false;
	const struct args_flag flags[] = {
		{ "stats", 0, ARGS_SWITCH, &is_once, NULL, "print figures once" },
		{ "interval", 0, ARGS_IGNORED, NULL, "TIME", "has no effect" },
	};
	const struct args a = { "events --stats ID", flags, ARRAY_LEN(flags), false };
	AUTO_STATE struct state s = { .folder = -1 };

	if (args_read(&a, argv, e) || args_count(&a, argv, 1, 1, e) ||
	    state_open(g->root, argv[0], &s, e))
		return -1;
	if (!is_once)
		return err_set(e, ERR_UNSUPPORTED,
			       "events: hutch-oci prints figures once: use "
			       "--stats");
	if (!s.cgroup)
		return err_set(e, ERR_UNSUPPORTED, "events: the container has no cgroup");
	AUTO_FREE char *text = write_stats(&s);
	return fputs(text, stdout) < 0 || fflush(stdout) ? err_sys(e, "write to stdout")
							 : 0;
}
