#include "docker/verb.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/own.h"
#include "base/worker.h"
#include "sandbox/kernel/program.h"

#define OUTPUT_MAX (64u << 20)

/* Makes /dev/null the stdout of this process. */
static int drop_output(struct err *e)
{
	AUTO_CLOSE int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	return null < 0 || dup2(null, STDOUT_FILENO) < 0 ? err_sys(e, "open /dev/null")
							 : 0;
}

int verb_become(const struct list *words, bool drops_output, struct err *e)
{
	AUTO_FREE char *path = NULL;
	struct list argv = { 0 };

	if (program_find_hutch(&path, e) < 0 || (drops_output && drop_output(e) < 0))
		return -1;
	list_add(&argv, "hutch");
	for (size_t i = 0; i < words->count; i++)
		list_add(&argv, words->items[i]);
	(void)execv(path, argv.items);
	list_done(&argv);
	return err_sys(e, "execute %s", path);
}

/* Runs in the child. */
static _Noreturn void be_child(const struct list *words, enum verb_output output, int to)
{
	struct err e;

	if (output == VERB_KEEP && dup2(to, STDOUT_FILENO) < 0)
		_exit(125);
	(void)verb_become(words, output == VERB_DROP, &e);
	(void)dprintf(STDERR_FILENO, "hutch: %s\n", e.text);
	_exit(125);
}

/* Reads all that the child prints; a bound keeps a child that never stops from filling
 * this process's memory. */
static char *read_all(int fd)
{
	struct buffer b;
	ssize_t got = 1;

	buffer_init(&b, OUTPUT_MAX);
	while (got > 0) {
		uint8_t *to = buffer_reserve(&b, 65536);
		if (!to)
			break;
		got = read(fd, to, 65536);
		buffer_added(&b, got > 0 ? (size_t)got : 0);
	}
	AUTO_FREE char *text = strndup((const char *)buffer_data(&b), buffer_len(&b));
	buffer_done(&b);
	if (!text)
		abort();
	char *ret = text;
	text = NULL;
	return ret;
}

int verb_run(const struct list *words, enum verb_output output, char **ret_text,
	     struct err *e)
{
	int ends[2] = { -1, -1 };

	if (output == VERB_KEEP && pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	AUTO_CLOSE int from = ends[0];
	pid_t pid = fork();
	if (pid == 0)
		be_child(words, output, ends[1]);
	own_close(&ends[1]);
	if (pid < 0)
		return err_sys(e, "fork");
	if (output == VERB_KEEP)
		*ret_text = read_all(from);
	/* A child that prints more than was read ends by SIGPIPE. */
	own_close(&from);
	int status = worker_reap(pid);
	return WIFEXITED(status)     ? WEXITSTATUS(status)
	       : WIFSIGNALED(status) ? 128 + WTERMSIG(status)
				     : 125;
}
