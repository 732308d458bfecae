/* hutch-pool: the command `hutch pool create`, and the keeper, a background process
 * that it starts for the pool.  The command returns when the first sandbox is ready.
 * See docs/hutch-pool.md. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "cli/common/fd_flag.h"
#include "cli/common/report.h"
#include "policy/units.h"
#include "sandbox/kernel/program.h"
#include "sandbox/launch/launch.h"
#include "sandbox/launch/result.h"
#include "supervisor/events.h"
#include "supervisor/pool/pool.h"

/* The number of descriptors that the keeper needs besides those of waiting sandboxes:
 * for clients, for sandboxes that are being made, and for itself. */
#define FILES_OTHERS (POOL_CLIENTS_MAX + 3 * POOL_SPAWNS_MAX + 64)

struct order {
	const char *name; /* borrowed; the pool's name; NULL: none was given */
	struct list words; /* options for hutch create */
	uint64_t size;
	int lease, json_fd; /* the descriptors of --lease and --json; -1: not given */
};

/* --- the words ----------------------------------------------------------------- */

static int usage(struct err *e, const char *what, const char *word)
{
	(void)err_set(e, ERR_USAGE, "%s%s%.60s%s", what, *word ? " '" : "", word,
		      *word ? "'" : "");
	return err_remedy(e,
			  "hutch pool create NAME [--size N] [OPTIONS OF hutch create]");
}

static int take_size(struct order *o, const char *value, struct err *e)
{
	if (units_parse_number(value, &o->size, e) < 0)
		return err_in(e, "--size");
	if (o->size < 1 || o->size > POOL_SIZE_MAX)
		return err_set(e, ERR_USAGE, "--size takes 1 to %d, not '%.60s'",
			       POOL_SIZE_MAX, value);
	return 0;
}

static int take_lease(struct order *o, const char *value, struct err *e)
{
	struct stat st;

	if (fd_flag_fd("--lease", value, &o->lease, e) < 0)
		return -1;
	if (o->lease <= 2 || fstat(o->lease, &st) < 0 ||
	    !(S_ISSOCK(st.st_mode) || S_ISFIFO(st.st_mode)))
		return err_set(e, ERR_USAGE,
			       "--lease %d: that descriptor is no socket and no "
			       "pipe above 2",
			       o->lease);
	return 0;
}

static int take_json(struct order *o, const char *value, struct err *e)
{
	o->json_fd = 2;
	return value ? fd_flag_fd("--json", value, &o->json_fd, e) : 0;
}

/* Refuses -p: all sandboxes of the pool would publish the same port of the host. */
static int refuse(struct order *o, const char *value, struct err *e)
{
	(void)o, (void)value;
	(void)err_set(e, ERR_USAGE,
		      "-p makes no sense for a pool, whose sandboxes would all have "
		      "the same port of this host");
	return err_remedy(e,
			  "hutch port add publishes ports of a sandbox that was taken");
}

static int refuse_keep(struct order *o, const char *value, struct err *e)
{
	(void)o, (void)value;
	(void)err_set(e, ERR_USAGE,
		      "--keep makes no sense for a pool: the sandboxes that wait "
		      "in it end with its keeper");
	return err_remedy(
		e, "hutch snapshot keeps what was written in a sandbox that was taken");
}

static const struct own_flag {
	const char *name;
	enum { TAKES_NONE, TAKES_ONE, MAY_TAKE } takes;
	int (*take)(struct order *o, const char *value, struct err *e);
} own_flags[] = {
	{ "--size", TAKES_ONE, take_size },
	{ "--lease", TAKES_ONE, take_lease },
	{ "--json", MAY_TAKE, take_json },
	{ "--publish", MAY_TAKE, refuse },
	{ "-p", TAKES_NONE, refuse },
	{ "--keep", TAKES_NONE, refuse_keep },
};

static const struct own_flag *find(const char *word, size_t *ret_len)
{
	*ret_len = strcspn(word, "=");
	for (size_t i = 0; i < ARRAY_LEN(own_flags); i++)
		if (strlen(own_flags[i].name) == *ret_len &&
		    !strncmp(word, own_flags[i].name, *ret_len))
			return &own_flags[i];
	return NULL;
}

/* Handles a word if it is one of the pool's own options.  1: it was one, and *at points
 * to its value or, if it has none, to itself. */
static int take_own(struct order *o, char ***at, struct err *e)
{
	size_t len;
	const struct own_flag *flag = find(**at, &len);
	const char *value = flag && (**at)[len] ? **at + len + 1 : NULL;

	if (!flag)
		return 0;
	if (flag->takes == TAKES_ONE && !value && !(value = *++*at))
		return usage(e, "a value is missing behind", flag->name);
	return flag->take(o, value, e) < 0 ? -1 : 1;
}

static int no_command(const struct order *o, const char *word, struct err *e)
{
	(void)err_set(e, ERR_USAGE,
		      "hutch pool create takes one name and no command, but got also "
		      "'%.60s'",
		      word);
	return err_remedy(e,
			  "hutch pool exec %.60s %.60s runs it, when the pool is there",
			  o->name, word);
}

/* Refuses "--".  Behind it the user expects a command, which a pool does not take, or
 * more options for hutch create, which need no "--". */
static int no_dashes(const struct order *o, const char *next, struct err *e)
{
	static const char text[] = "hutch pool create takes no '--'";

	if (!o->name)
		return usage(e, text, "");
	if (next && *next != '-')
		return no_command(o, next, e);
	(void)err_set(e, ERR_USAGE, "%s", text);
	return err_remedy(e, "leave it out: hutch pool create %.60s [--size N] %.60s%s",
			  o->name, next ? next : "[OPTIONS OF hutch create]",
			  next ? " ..." : "");
}

static int name_first(const char *word, struct err *e)
{
	(void)err_set(e, ERR_USAGE, "the name of the pool comes before '%.60s'", word);
	return err_remedy(e, "hutch pool create NAME %.60s ...", word);
}

/* Parses the command line.  All words but the pool's own options are passed on to hutch
 * create, which knows which of them are values of its options. */
static int parse(char **at, struct order *o, struct err *e)
{
	for (; *at; at++) {
		int taken = take_own(o, &at, e);
		if (taken < 0)
			return -1;
		if (!taken && !strcmp(*at, "--"))
			return no_dashes(o, at[1], e);
		if (!taken && !o->name && **at == '-')
			return name_first(*at, e);
		if (!taken && o->name && !o->words.count && **at != '-')
			return no_command(o, *at, e);
		if (!taken && !o->name)
			o->name = *at;
		else if (!taken)
			list_add(&o->words, *at);
	}
	if (o->lease >= 0 && o->lease == o->json_fd)
		return usage(e, "--lease and --json need a descriptor each", "");
	return o->name ? pools_check_name(o->name, e)
		       : usage(e, "hutch pool create: NAME is missing", "");
}

/* --- the keeper ---------------------------------------------------------------- */

static int raise_files(struct pool *p, struct err *e)
{
	const rlim_t wanted = p->size + FILES_OTHERS;

	if (getrlimit(RLIMIT_NOFILE, &p->files) < 0)
		return err_sys(e, "getrlimit RLIMIT_NOFILE");
	struct rlimit higher = p->files;
	if (higher.rlim_cur >= wanted)
		return 0;
	higher.rlim_cur = wanted;
	if (wanted <= higher.rlim_max && setrlimit(RLIMIT_NOFILE, &higher) == 0)
		return 0;
	(void)err_set(e, ERR_LIMIT,
		      "a pool of %zu takes %llu descriptors, and this user may have "
		      "%llu",
		      p->size, (unsigned long long)wanted,
		      (unsigned long long)higher.rlim_max);
	return err_remedy(e, "raise ulimit -n here, or make it smaller: --size");
}

static int open_signals(struct err *e)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGHUP);
	(void)sigaddset(&set, SIGQUIT);
	(void)signal(SIGCHLD, SIG_DFL); /* if SIGCHLD were ignored, waitpid(2) would not
					 * report children */
	(void)signal(SIGPIPE, SIG_IGN); /* a write to the pipe of a process that has
					 * ended must only fail */
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return err_sys(e, "block signals");
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? err_sys(e, "signalfd") : fd;
}

static size_t count_cpus(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) < 0 ? 1 : CPU_COUNT(&set);

	return n < POOL_SPAWNS_MAX ? (size_t)n : POOL_SPAWNS_MAX;
}

static int prepare(struct pool *p, const struct order *o, struct err *e)
{
	p->size = o->size;
	p->words = o->words;
	p->together = count_cpus();
	if (program_find("hutch-supervise", &p->program, e) < 0 ||
	    raise_files(p, e) < 0 || pools_create(o->name, &p->place, e) < 0)
		return -1;
	p->created = events_time(events_now());
	p->signals = open_signals(e);
	/* The working directory stays the caller's, since options may contain relative
	 * paths. */
	if (p->signals >= 0 && launch_leave_caller(e) == 0)
		return 0;
	pools_remove(&p->place);
	return -1;
}

static void keep_pool(const struct order *o, int ready)
{
	struct pool *p = mem_zeroed(1, sizeof(*p));
	struct err e;

	*p = (struct pool){ .ready = ready, .lease = o->lease, .signals = -1 };
	pools_init(&p->place);
	if (prepare(p, o, &e) == 0)
		pool_run(p);
	else
		(void)io_write_all(ready, &e, sizeof(e)); /* on failure: the waiting
							   * process may have ended */
	free(p->program);
	free(p->created);
	free(p);
}

/* --- the process that waits for the keeper
 * --------------------------------------- */

static int start(struct order *o, struct err *e)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, "pipe");
	pid_t pid = fork();
	if (pid < 0)
		return err_sys(e, "fork");
	if (pid == 0) {
		(void)close(ends[0]);
		if (o->json_fd > 2)
			own_close(&o->json_fd); /* a reader of the JSON object waits
						 * until all have closed this
						 * descriptor */
		keep_pool(o, ends[1]);
		_exit(0);
	}
	(void)close(ends[1]);
	own_close(&o->lease); /* otherwise the lease's holder would not see the keeper
			       * close it */
	if (io_read_full(ends[0], e, sizeof(*e)) != (ssize_t)sizeof(*e))
		return err_set(e, ERR_INTERNAL,
			       "the keeper of pool '%s' ended before it had made "
			       "a sandbox",
			       o->name);
	return e->kind == ERR_NONE ? 0 : -1;
}

static int made(const struct order *o, struct err *e)
{
	if (printf("%s\n", o->name) >= 0 && fflush(stdout) == 0)
		return 0;
	(void)err_sys(e, "write the name of pool '%s', which is there", o->name);
	return err_remedy(e, "hutch pool rm %s removes it", o->name);
}

int main(int argc, char **argv)
{
	struct order o = { .size = POOL_SIZE_DEFAULT, .lease = -1, .json_fd = -1 };
	struct err e = { .kind = ERR_NONE };
	int code = EXIT_HUTCH;

	if (argc < 1 || io_fill_standard() < 0)
		return EXIT_HUTCH;
	if (parse(argv + 1, &o, &e) == 0) {
		launch_close_others(o.json_fd, o.lease);
		if (start(&o, &e) == 0 && made(&o, &e) == 0)
			code = 0;
	}
	if (e.kind != ERR_NONE)
		report_error(&e);
	if (report_made(o.json_fd, o.name, &e) < 0)
		code = EXIT_HUTCH;
	list_done(&o.words);
	return code;
}
