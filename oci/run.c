#include <sys/wait.h>

#include "base/err.h"
#include "base/own.h"
#include "oci/args.h"
#include "oci/console.h"
#include "oci/verbs.h"

static int read_flags(struct create_flags *f, char **argv, const char *usage,
		      struct err *e)
{
	bool no_subreaper;
	const struct args_flag flags[] = {
		{ "bundle", 'b', ARGS_TEXT, &f->bundle, "DIR", "the bundle (default .)" },
		{ "config", 'f', ARGS_TEXT, &f->config, "FILE",
		  "in place of config.json" },
		{ "console-socket", 0, ARGS_TEXT, &f->console, "PATH",
		  "a socket that gets the terminal's master" },
		{ "pid-file", 0, ARGS_TEXT, &f->pid_file, "FILE", "gets the process id" },
		{ "preserve-fds", 0, ARGS_TEXT, &f->preserve, "N",
		  "hand on this many descriptors, from 3 on" },
		{ "no-pivot", 0, ARGS_SWITCH, &f->keeps_root, NULL,
		  "for a host whose root is a ramfs" },
		{ "no-new-keyring", 0, ARGS_SWITCH, &f->has_old_keyring, NULL,
		  "keep the caller's session keyring" },
		{ "no-subreaper", 0, ARGS_SWITCH, &no_subreaper, NULL, "has no effect" },
		{ "detach", 'd', ARGS_SWITCH, &f->is_detached, NULL,
		  "return once the command runs" },
		{ "keep", 0, ARGS_SWITCH, &f->keeps, NULL,
		  "do not delete it at its end" },
	};
	const struct args a = { usage, flags, ARRAY_LEN(flags), false };

	return args_read(&a, argv, e) || args_count(&a, argv, 1, 1, e) ? -1 : 0;
}

int create_verb(const struct globals *g, char **argv, struct err *e)
{
	struct create_flags f = { 0 };
	struct created c;

	if (read_flags(&f, argv, "create [OPTIONS] ID", e))
		return -1;
	f.is_detached = true;
	if (create_container(g, &f, argv[0], &c, e))
		return -1;
	own_close(&c.master);
	state_done(&c.state);
	return 0;
}

/* Waits for the command, and returns its exit code as a shell does. */
static int attend(struct created *c, struct err *e)
{
	const int status = console_attend(fd_take(&c->master), (int)c->state.pid, e);

	return status < 0	     ? -1
	       : WIFSIGNALED(status) ? 128 + WTERMSIG(status)
				     : WEXITSTATUS(status);
}

int run_verb(const struct globals *g, char **argv, struct err *e)
{
	struct create_flags f = { 0 };
	struct created c;
	struct err late = { 0 };

	if (read_flags(&f, argv, "run [OPTIONS] ID", e) ||
	    create_container(g, &f, argv[0], &c, e))
		return -1;
	int code = start_container(&c.state, e);
	if (code) {
		(void)delete_container(&c.state, true, &late); /* start's error counts */
		state_done(&c.state);
		return -1;
	}
	if (!f.is_detached) {
		code = attend(&c, e);
		if (!f.keeps && delete_container(&c.state, true, &late) && code >= 0) {
			*e = late;
			code = -1;
		}
	}
	own_close(&c.master);
	state_done(&c.state);
	return code;
}
