#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/json_write.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/own.h"
#include "oci/args.h"
#include "oci/fields.h"
#include "oci/resources.h"
#include "oci/systemd.h"
#include "oci/verbs.h"
#include "policy/json/json.h"
#include "policy/signal_name.h"

/* Prints text to stdout and reports a failed write. */
static int print(const char *text, struct err *e)
{
	return fputs(text, stdout) < 0 || fflush(stdout) ? err_sys(e, "write to stdout")
							 : 0;
}

/* Reads the flags of a verb that takes just an id, and opens the container. */
static int open_one(const struct globals *g, const struct args *a, char **argv,
		    struct state *ret, struct err *e)
{
	if (args_read(a, argv, e))
		return -1;
	if (!argv[0])
		return err_set(e, ERR_USAGE, "a container id was expected");
	return state_open(g->root, argv[0], ret, e);
}

int state_verb(const struct globals *g, char **argv, struct err *e)
{
	const struct args a = { .usage = "state ID" };
	AUTO_STATE struct state s = { .folder = -1 };

	if (open_one(g, &a, argv, &s, e))
		return -1;
	AUTO_FREE char *text = state_json(&s, state_status(&s));
	return print(text, e);
}

/* Runtime tests of the engines look for this text. */
static int not_running(const struct state *s, struct err *e)
{
	return err_set(e, ERR_GONE, "container not running: '%s' is stopped", s->id);
}

static int signal_process(const struct state *s, int sig, struct err *e)
{
	AUTO_CLOSE int fd = sys_pidfd_open(s->pid, 0);

	/* The birth is read after the process was opened, so that no other process can be
	 * meant. */
	if (fd < 0 || state_birth(s->pid) != s->born)
		return not_running(s, e);
	return sys_pidfd_send_signal(fd, sig)
		       ? err_sys(e, "signal process %d", (int)s->pid)
		       : 0;
}

int kill_verb(const struct globals *g, char **argv, struct err *e)
{
	bool is_all = false;
	const struct args_flag flags[] = { { "all", 'a', ARGS_SWITCH, &is_all, NULL,
					     "all its processes, not only the first" } };
	const struct args a = { "kill [OPTIONS] ID [SIGNAL]", flags, ARRAY_LEN(flags),
				false };
	AUTO_STATE struct state s = { .folder = -1 };

	if (open_one(g, &a, argv, &s, e) || args_count(&a, argv, 1, 2, e))
		return -1;
	const int sig = argv[1] ? signal_name_parse(argv[1]) : SIGTERM;
	if (!sig)
		return err_set(e, ERR_USAGE, "unknown signal '%.64s'", argv[1]);
	const enum state_status status = state_status(&s);
	if (is_all && s.cgroup && access(s.cgroup, F_OK) == 0)
		return cgroups_signal(s.cgroup, sig, e);
	return status == STATE_STOPPED ? not_running(&s, e) : signal_process(&s, sig, e);
}

static int set_frozen(const struct globals *g, char **argv, bool is_frozen, struct err *e)
{
	const struct args a = { .usage = is_frozen ? "pause ID" : "resume ID" };
	AUTO_STATE struct state s = { .folder = -1 };

	if (open_one(g, &a, argv, &s, e))
		return -1;
	const enum state_status status = state_status(&s);
	if (is_frozen ? status != STATE_RUNNING && status != STATE_CREATED
		      : status != STATE_PAUSED)
		return err_set(e, ERR_BUSY, "container '%s' is %s, not %s", s.id,
			       state_word(status), is_frozen ? "running" : "paused");
	return cgroups_freeze(s.cgroup, is_frozen, e);
}

int pause_verb(const struct globals *g, char **argv, struct err *e)
{
	return set_frozen(g, argv, true, e);
}

int resume_verb(const struct globals *g, char **argv, struct err *e)
{
	return set_frozen(g, argv, false, e);
}

/* --- ps --------------------------------------------------------------------------------- */

/* Lists the processes: those of the cgroup, or without one the first process alone. */
static int list_pids(const struct state *s, pid_t **ret, size_t *ret_count, struct err *e)
{
	if (s->cgroup)
		return cgroups_pids(s->cgroup, ret, ret_count, e);
	*ret = malloc(sizeof(**ret));
	if (!*ret)
		abort();
	**ret = s->pid;
	*ret_count = 1;
	return 0;
}

int ps_verb(const struct globals *g, char **argv, struct err *e)
{
	const char *format = "table";
	const struct args_flag flags[] = { { "format", 'f', ARGS_TEXT, &format,
					     "table|json", "how to print them" } };
	const struct args a = { "ps [OPTIONS] ID", flags, ARRAY_LEN(flags), false };
	AUTO_STATE struct state s = { .folder = -1 };
	AUTO_FREE pid_t *pids = NULL;
	size_t count = 0;

	if (open_one(g, &a, argv, &s, e))
		return -1;
	const bool is_json = !strcmp(format, "json");
	if (!is_json && strcmp(format, "table") != 0)
		return err_set(e, ERR_USAGE, "--format: table or json was expected");
	if (state_status(&s) == STATE_STOPPED)
		return not_running(&s, e);
	if (list_pids(&s, &pids, &count, e))
		return -1;
	struct list lines = { 0 };
	for (size_t i = 0; i < count; i++)
		list_addf(&lines, "%d", (int)pids[i]);
	AUTO_FREE char *body = list_join(&lines, 0, is_json ? "," : "\n");
	AUTO_FREE char *text = text_format(is_json ? "[%s]\n" : "PID\n%s\n", body);
	list_done(&lines);
	return print(text, e);
}

/* --- update ----------------------------------------------------------------------------- */

/* Reads the JSON of --resources: a file, or "-" for stdin. */
static int read_resources(const char *path, struct resources *ret, struct err *e)
{
	AUTO_FREE char *text = NULL;
	AUTO_CLOSE int fd = -1;
	struct json_at root;
	size_t len;
	const bool is_stdin = !strcmp(path, "-");

	FILE *file = is_stdin ? stdin : fopen(path, "re");
	if (!file)
		return err_sys(e, "open %s", path);
	fd = dup(fileno(file));
	if (!is_stdin)
		(void)fclose(file); /* it was only opened for its descriptor */
	if (io_read_file(fd, path, FIELDS_FILE_MAX, &text, &len, e))
		return -1;
	AUTO_JSON struct json *doc = json_parse_wide(text, len, e);
	if (!doc)
		return err_in(e, "--resources");
	json_root(doc, "resources", &root);
	return json_expect(&root, JSON_OBJECT, e) || resources_read(&root, ret, e) ? -1
										   : 0;
}

/* Writes the single flags as the JSON that --resources has. */
static char *flags_json(const char *const values[], const char *const places[][2],
			size_t count)
{
	struct buffer b;
	const char *open = NULL;

	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	for (size_t i = 0; i < count; i++) {
		if (!values[i])
			continue;
		if (!open || strcmp(open, places[i][0]) != 0) {
			if (open)
				json_write_close(&b, "}");
			json_write_open(&b, places[i][0], "{");
		}
		open = places[i][0];
		if (values[i][strspn(values[i], "-0123456789")])
			json_write_text(&b, places[i][1], values[i]);
		else
			json_write_raw(&b, places[i][1], values[i]);
	}
	json_write_close(&b, open ? "}}" : "}");
	return json_write_end(&b);
}

static int read_flags_json(const char *text, struct resources *ret, struct err *e)
{
	struct json_at root;
	AUTO_JSON struct json *doc = json_parse_wide(text, strlen(text), e);

	if (!doc)
		return -1;
	json_root(doc, "update", &root);
	return resources_read(&root, ret, e);
}

int update_verb(const struct globals *g, char **argv, struct err *e)
{
	static const char *const places[][2] = {
		{ "memory", "limit" }, { "memory", "reservation" },
		{ "memory", "swap" },  { "cpu", "shares" },
		{ "cpu", "quota" },    { "cpu", "period" },
		{ "cpu", "cpus" },     { "cpu", "mems" },
		{ "pids", "limit" },   { "blockIO", "weight" },
	};
	const char *values[ARRAY_LEN(places)] = { NULL }, *file = NULL;
	const struct args_flag flags[] = {
		{ "resources", 'r', ARGS_TEXT, &file, "FILE",
		  "JSON of limits; - is stdin" },
		{ "memory", 0, ARGS_TEXT, &values[0], "BYTES", "the most memory" },
		{ "memory-reservation", 0, ARGS_TEXT, &values[1], "BYTES",
		  "the memory that reclaim leaves to it" },
		{ "memory-swap", 0, ARGS_TEXT, &values[2], "BYTES", "memory and swap" },
		{ "cpu-share", 0, ARGS_TEXT, &values[3], "N",
		  "the weight, 1024 by default" },
		{ "cpu-shares", 0, ARGS_TEXT, &values[3], "N", "the same" },
		{ "cpu-quota", 0, ARGS_TEXT, &values[4], "US",
		  "processor time in each period" },
		{ "cpu-period", 0, ARGS_TEXT, &values[5], "US",
		  "the length of a period" },
		{ "cpuset-cpus", 0, ARGS_TEXT, &values[6], "LIST", "the processors" },
		{ "cpuset-mems", 0, ARGS_TEXT, &values[7], "LIST", "the memory nodes" },
		{ "pids-limit", 0, ARGS_TEXT, &values[8], "N", "the most processes" },
		{ "blkio-weight", 0, ARGS_TEXT, &values[9], "N",
		  "the share of disk I/O" },
	};
	const struct args a = { "update [OPTIONS] ID", flags, ARRAY_LEN(flags), false };
	AUTO_STATE struct state s = { .folder = -1 };
	struct resources r = { 0 };

	if (open_one(g, &a, argv, &s, e))
		return -1;
	if (state_status(&s) == STATE_STOPPED)
		return not_running(&s, e);
	AUTO_FREE char *text = flags_json(values, places, ARRAY_LEN(places));
	if (file ? read_resources(file, &r, e) : read_flags_json(text, &r, e))
		return -1;
	int rc = resources_check(&r, s.cgroup, e);
	rc = rc || (s.scope && systemd_update(s.scope, &r, e)) ||
			     resources_apply(&r, s.cgroup, s.v1, e)
		     ? -1
		     : 0;
	resources_done(&r);
	return rc;
}
