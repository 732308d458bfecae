/* The words behind `docker run`, one a line.  If they are taken, hutch gets flags that
 * docker's become, each with its value, then the image, and behind "--" the command: no
 * value or operand of the caller's is taken for a flag. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "docker/args.h"
#include "docker/run_args.h"
#include "sandbox/state/registry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WORDS_MAX 64

static void claim(bool is_so)
{
	if (!is_so)
		abort();
}

static bool has(const char *const *names, const char *name)
{
	while (*names && strcmp(*names, name) != 0)
		names++;
	return *names != NULL;
}

/* Walks the flags up to the image; returns the number of words up to there. */
static size_t check_flags(const struct list *words)
{
	static const char *const switches[] = { "--main", "--rm",	 "--keep", "-i",
						"-t",	  "--read-only", "-q",	   NULL };
	static const char *const valued[] = { "-e",
					      "--env-file",
					      "-v",
					      "--tmpfs",
					      "-w",
					      "-u",
					      "-p",
					      "--ulimit",
					      "--cap-add",
					      "--cap-drop",
					      "--seccomp",
					      "--add-host",
					      "--label",
					      "--memory",
					      "--cpus",
					      "--pids-limit",
					      "--network",
					      "--allow",
					      "--hostname",
					      "--entrypoint",
					      "--pull",
					      "--restart",
					      "--stop-signal",
					      "--stop-timeout",
					      "--network-join",
					      NULL };
	size_t i = 1;

	while (i < words->count && strcmp(words->items[i], "--image") != 0) {
		const char *word = words->items[i++];
		claim(has(switches, word) || (has(valued, word) && i < words->count));
		i += has(valued, word);
	}
	claim(i + 1 < words->count);
	return i + 2;
}

/* A container with a name, which one that is detached has in any case, is created. */
static void check(const struct list *words, bool has_name)
{
	claim(!strcmp(words->items[0], has_name ? "create" : "run"));
	size_t i = check_flags(words);
	if (has_name) {
		claim(i < words->count && registry_is_name(words->items[i]));
		i++;
	}
	claim(i == words->count || !strcmp(words->items[i], "--"));
}

static void read_exec(char **argv)
{
	struct args a = { 0 };
	const char *box = NULL;
	struct err e;

	char **command = run_args_read_exec(argv, &a, &box, &e);
	claim(command ? box && *command : *e.text);
	args_done(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_FREE char *text = calloc(size + 1, 1);
	char *argv[WORDS_MAX + 1] = { NULL }, *rest = text;
	struct list words = { 0 };
	struct args a = { 0 };
	struct err e;

	claim(text && setenv("XDG_DATA_HOME", "/nosuch", 1) == 0);
	if (size)
		memcpy(text, data, size);
	for (size_t i = 0; i < WORDS_MAX && rest; i++)
		argv[i] = strsep(&rest, "\n");
	if (run_args_read(argv, "made", &a, &words, &e) == 0)
		check(&words, a.name != NULL);
	else
		claim(*e.text);
	list_done(&words);
	args_done(&a);
	read_exec(argv);
	return 0;
}
