/* The words behind `apptainer exec`, one a line.  If they are taken, hutch gets flags that
 * Apptainer's become, each with its value: no value of the caller's is taken for a flag. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "apptainer/action_args.h"
#include "apptainer/env_args.h"
#include "base/err.h"
#include "base/list.h"
#include "base/own.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WORDS_MAX 64

static void claim(bool is_so)
{
	if (!is_so)
		abort();
}

static bool is_flag(const char *word)
{
	static const char *const flags[] = { "-v",	   "--tmpfs",	   "--upper",
					     "--network",  "--memory",	   "--cpus",
					     "--cap-add",  "--pids-limit", "--cap-drop",
					     "--hostname", "--allow" };

	for (size_t i = 0; i < ARRAY_LEN(flags); i++)
		if (!strcmp(flags[i], word))
			return true;
	return false;
}

static void check_words(const struct action *a)
{
	struct list words = { 0 };

	for (size_t i = 0; i < a->args.words.count; i++)
		list_add(&words, a->args.words.items[i]);
	action_args_add_network(a, NULL, &words);
	claim(words.count % 2 == 0);
	for (size_t i = 0; i < words.count; i += 2)
		claim(is_flag(words.items[i]));
	list_done(&words);
}

/* Each variable has a name that a shell can export. */
static void check_env(const struct list *env)
{
	for (size_t i = 0; i < env->count; i++) {
		const size_t len = env_args_name(env->items[i]);
		claim(len > 0 && env->items[i][len] == '=');
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_FREE char *text = calloc(size + 1, 1);
	char *argv[WORDS_MAX + 1] = { NULL }, **at = argv, *rest = text;
	struct list env = { 0 };
	struct action a = { 0 };
	struct err e = { 0 };

	claim(text);
	if (size)
		memcpy(text, data, size);
	if (env_args_text(&env, text, &e) == 0)
		check_env(&env);
	list_done(&env);
	for (size_t i = 0; i < WORDS_MAX && rest; i++)
		argv[i] = strsep(&rest, "\n");
	if (action_args_read(&at, "exec", &a, &e) == 0) {
		check_words(&a);
		action_args_env(&a, &env);
		check_env(&env);
	} else {
		claim(*e.text);
	}
	list_done(&env);
	action_done(&a);
	return 0;
}
