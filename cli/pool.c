/* hutch pool create|ls|take|exec|rm: sandboxes that are started in advance. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd_pass.h"
#include "base/io.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/own.h"
#include "cli/common/client.h"
#include "cli/common/flags.h"
#include "cli/common/report.h"
#include "cli/common/subcommands.h"
#include "cli/common/table.h"
#include "cli/exec.h"
#include "cli/pool_client.h"
#include "cli/verbs.h"
#include "policy/units.h"
#include "sandbox/kernel/host_user.h"
#include "sandbox/kernel/program.h"
#include "sandbox/launch/result.h"
#include "sandbox/state/pools.h"

/* --- create ---------------------------------------------------------------------- */

static int print_create_help(void)
{
	(void)printf(
		"hutch pool create NAME [--size N] [OPTIONS OF hutch create]\n\n"
		"Keeps N sandboxes ready, to be handed out by hutch pool take and exec.\n\n"
		"     --size N                        how many are kept (default 4, at most 512)\n"
		"     --lease FD                      end with that connection\n"
		"     --json[=FD]                     how it went, as an object of JSON\n"
		"  -h --help                          this text\n\n"
		"Each is made with the other options: hutch create --help lists them.\n"
		"More: man hutch-pool\n");
	return 0;
}

static int execute(char **argv, struct err *e)
{
	AUTO_FREE char *path = NULL;
	struct list words = { 0 };

	if (host_user_become_client(e) < 0 || program_find("hutch-pool", &path, e) < 0)
		return -1;
	list_add(&words, "hutch-pool");
	for (; *argv; argv++)
		list_add(&words, *argv);
	(void)execv(path, words.items);
	list_done(&words);
	return err_sys(e, "execute %s", path);
}

static int create_pool_main(char **argv)
{
	struct err e;

	for (char **at = argv; *at; at++)
		if (!strcmp(*at, "--help") || !strcmp(*at, "-h"))
			return print_create_help();
	return report_end(execute(argv, &e), &e);
}

/* --- ls -------------------------------------------------------------------------- */

static const struct column {
	const char *head, *key;
} columns[] = {
	{ "SIZE", "size" },	  { "READY", "ready" }, { "MAKING", "making" },
	{ "WAITING", "waiting" }, { "TAKEN", "taken" },
};

static void add_row(struct table *t, const char *name, struct json_view info)
{
	AUTO_FREE char *error = json_view_string(json_view_get(info, "error.message"));
	int64_t number;

	table_add(t, text_copy(name));
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		table_add(t,
			  json_view_integer(json_view_get(info, columns[i].key), &number)
				  ? text_format("%lld", (long long)number)
				  : NULL);
	table_add(t, error ? text_copy(error) : text_copy(""));
}

/* Lists one pool; a pool that is just ending is skipped.  -1: an error, which
 * was printed. */
static int list_one(const char *name, struct table *t, struct list *objects)
{
	struct pool_answer a;
	struct err e;
	int result = pool_ask(name, "info", NULL, &a, &e);

	if (result == 0) {
		add_row(t, name, a.result);
		list_addf(objects, "%.*s", (int)a.result.len, a.result.text);
	} else if (e.kind == ERR_NOT_FOUND || e.kind == ERR_GONE) {
		result = 0;
	} else {
		report_error(&e);
	}
	pool_answer_done(&a);
	return result;
}

/* Lists all pools.  A pool that does not answer does not keep the others from being
 * listed. */
static int print_all(const struct list *names, bool is_json)
{
	struct table t = { .columns = ARRAY_LEN(columns) + 2 };
	struct list objects = { 0 };
	int code = 0;

	table_add(&t, text_copy("NAME"));
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		table_add(&t, text_copy(columns[i].head));
	table_add(&t, text_copy("TROUBLE"));
	for (size_t i = 0; i < names->count; i++)
		code = list_one(names->items[i], &t, &objects) ? EXIT_HUTCH : code;
	AUTO_FREE char *all = list_join(&objects, 0, ",");
	if (is_json)
		(void)printf("[%s]\n", all ? all : "");
	else
		table_print(&t, stdout);
	list_done(&objects);
	table_done(&t);
	return code;
}

static int ls_pool_main(char **argv)
{
	bool is_json = false, is_quiet = false;
	const struct flag flags[] = {
		{ 0, "json", NULL, "an array of objects", &is_json, NULL },
		{ 'q', "quiet", NULL, "names alone", &is_quiet, NULL },
	};
	const struct usage usage = {
		.synopsis = "hutch pool ls [OPTIONS]",
		.about = "Lists the pools.",
		.flags = flags, .count = ARRAY_LEN(flags),
	};
	struct list names = { 0 };
	struct err e;
	enum flags_result got = flags_begin(argv, &usage);

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	if (host_user_become_client(&e) < 0 || pools_list(&names, &e) < 0)
		return report_end(-1, &e);
	for (size_t i = 0; is_quiet && i < names.count; i++)
		(void)puts(names.items[i]);
	int code = is_quiet ? 0 : print_all(&names, is_json);
	list_done(&names);
	return code;
}

/* --- take ------------------------------------------------------------------------ */

struct take {
	const char *name, *timeout; /* the values of the flags; NULL: the flag was not
				     * given */
	int64_t timeout_ms;
	bool is_descriptor;
};

/* Renames the sandbox, if a name is given.  client_call() sends the hello before the
 * request; the hello ends the time in which only this connection could use the
 * sandbox. */
static int claim(struct client *c, const char *name, struct err *e)
{
	AUTO_FREE char *quoted = json_write_quoted(name);
	AUTO_FREE char *params = name ? text_format("{\"name\":%s}", quoted) : NULL;
	struct json_view answer;

	if (name && registry_make_way(name, e) < 0)
		return -1;
	return client_call(c, name ? "rename" : "info", params, &answer, e);
}

/* Lets the sandbox live on after this connection.  The name is printed first: if
 * this process is killed before the release, the sandbox ends, so no sandbox is left
 * whose name the caller does not know. */
static int release(struct client *c, const char *name, struct err *e)
{
	const char *shown = name ? name : c->name;
	struct json_view answer;

	if (claim(c, name, e) < 0)
		return -1;
	if (printf("%s\n", shown) < 0 || fflush(stdout) != 0)
		return err_sys(e, "write the name of sandbox '%s'", shown);
	return client_call(c, "release", NULL, &answer, e);
}

/* Checks that stdout can be written before a sandbox is taken: without a reader of
 * its name, the sandbox would be lost. */
static int check_stdout(struct err *e)
{
	struct sockaddr peer;
	socklen_t len = sizeof(peer);

	if (getpeername(1, &peer, &len) == 0 && peer.sa_family == AF_UNIX)
		return 0;
	(void)err_set(e, ERR_USAGE,
		      "-d hands a connection over through stdout, which must be a "
		      "unix socket that is connected");
	return err_remedy(e,
			  "it is for programs; hutch pool take without it prints a name");
}

/* Checks the name in advance; another sandbox may still take it meanwhile. */
static int check_name(const char *name, struct err *e)
{
	if (registry_check_name(name, e) < 0)
		return err_in(e, "--name");
	return registry_make_way(name, e) < 0 && e->kind == ERR_EXISTS ? -1 : 0;
}

/* Passes the connection, and with it the sandbox's lease, to the process at the
 * other end of stdout. */
static int hand_on(const struct client *c, struct err *e)
{
	AUTO_FREE char *line =
		text_format("{\"error\":null,\"sandbox\":\"%s\"}\n", c->name);
	const ssize_t len = (ssize_t)strlen(line);

	if (fd_pass_send(1, line, (size_t)len, &c->fd, 1) == len)
		return 0;
	return err_sys(e, "hand the connection over through stdout");
}

static int check(const struct take *t, struct err *e)
{
	if (t->is_descriptor && t->name) {
		(void)err_set(e, ERR_USAGE, "-d and --name exclude each other: the "
					    "receiver of the connection names the "
					    "sandbox");
		return err_remedy(e, "release takes a name (docs/control.md)");
	}
	if (t->is_descriptor)
		return check_stdout(e);
	return t->name ? check_name(t->name, e) : 0;
}

static int take(const char *pool, const struct take *t, struct err *e)
{
	struct client c = { 0 };

	/* If stdout's reader has gone, the write must fail with EPIPE instead of
	 * killing this process, so that the sandbox is ended in order. */
	(void)signal(SIGPIPE, SIG_IGN);
	if (check(t, e) < 0 || pool_take(pool, t->timeout_ms, &c, e) < 0)
		return -1;
	int result = t->is_descriptor ? hand_on(&c, e) : release(&c, t->name, e);
	client_done(&c);
	return result;
}

static int read_timeout(struct take *t, struct err *e)
{
	uint64_t ms;

	t->timeout_ms = -1;
	if (!t->timeout)
		return 0;
	if (!strcmp(t->timeout, "0")) {
		t->timeout_ms = 0;
		return 0;
	}
	if (units_parse_duration(t->timeout, &ms, e) < 0)
		return err_in(e, "--timeout");
	if (ms > 86400000)
		return err_set(e, ERR_USAGE, "--timeout takes a day at most, not '%.60s'",
			       t->timeout);
	t->timeout_ms = (int64_t)ms;
	return 0;
}

/* Reports the result of `hutch pool take`.  With -d (a descriptor is passed over
 * stdout) the caller reads only stdout, so an error is written to stdout, too. */
static int finish_take(const struct take *t, int result, const struct err *e)
{
	if (result == 0 || !t->is_descriptor)
		return report_end(result, e);
	AUTO_FREE char *error = result_error_json(e);
	AUTO_FREE char *line = text_format("{\"error\":%s}\n", error);
	/* The write fails if the caller has closed stdout; then no process reads the
	 * error. */
	(void)io_write_all(1, line, strlen(line));
	return report_end(result, e);
}

static int take_pool_main(char **argv)
{
	struct take t = { 0 };
	const struct flag flags[] = {
		{ 0, "name", "NAME", "the sandbox's new name", NULL, &t.name },
		{ 0, "timeout", "DURATION", "wait for one no longer; 0: not at all", NULL,
		  &t.timeout },
		{ 'd', "descriptor", NULL, "hand its connection over, through stdout",
		  &t.is_descriptor, NULL },
	};
	const struct usage usage = {
		.synopsis = "hutch pool take [OPTIONS] POOL",
		.about = "Hands out a sandbox of the pool, and prints its name.",
		.flags = flags, .count = ARRAY_LEN(flags),
		.operands_min = 1, .operands_max = 1,
	};
	struct err e;
	enum flags_result got = flags_begin(argv, &usage);

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	int result = read_timeout(&t, &e);
	if (result == 0)
		result = host_user_become_client(&e);
	if (result == 0)
		result = take(argv[0], &t, &e);
	return finish_take(&t, result, &e);
}

/* --- rm -------------------------------------------------------------------------- */

static int remove_one(const char *name)
{
	struct pool_answer a;
	struct err e;
	int result = pool_ask(name, "stop", NULL, &a, &e);

	pool_answer_done(&a);
	if (result < 0)
		return report_end(result, &e);
	(void)printf("%s\n", name);
	return 0;
}

static int rm_pool_main(char **argv)
{
	static const struct usage usage = {
		.synopsis = "hutch pool rm POOL...",
		.about =
			"Ends pools and the sandboxes that wait in them; not those that were taken.",
		.operands_min = 1,
		.operands_max = SIZE_MAX,
	};
	struct err e;
	int code = 0;
	enum flags_result got = flags_begin(argv, &usage);

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	if (host_user_become_client(&e) < 0)
		return report_end(-1, &e);
	for (; *argv; argv++)
		code = remove_one(*argv) ? EXIT_HUTCH : code;
	return code;
}

int pool_main(char **argv)
{
	static const struct part list_of[] = {
		{ "create", "keep sandboxes ready", create_pool_main },
		{ "ls", "list the pools", ls_pool_main },
		{ "take", "hand one out, and print its name", take_pool_main },
		{ "exec", "a command in one, which ends with it", exec_pool_main },
		{ "rm", "end pools and their waiting sandboxes", rm_pool_main },
	};
	static const struct subcommands parts = {
		.verb = "pool",
		.about = "Sandboxes that were made ahead, to be had at once.",
		.list = list_of, .count = ARRAY_LEN(list_of),
	};

	return subcommands_main(argv, &parts);
}
