/* Commands that an agent sends, against rules: the first line of the input is a
 * rule, the rest the command.  Every command that is found has words, and the
 * words end; a command that is denied alone is also denied in a list, in $( )
 * and as a text for a shell. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "policy/bash/tree.h"
#include "policy/commands.h"
#include "policy/rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_commands(const char *text, size_t len)
{
	struct commands c;

	commands_read(&c, text, len);
	if (c.count > COMMANDS_MAX)
		abort();
	for (size_t i = 0; i < c.count; i++) {
		const struct list *words = &c.items[i].words;
		if (words->count == 0 || words->items[words->count])
			abort();
	}
	commands_done(&c);
}

static enum decision judge(const struct rules *r, const char *text)
{
	const struct deed deed = { .action = "run", .command = text, .cwd = "/workspace" };
	struct verdict v;

	rules_judge(r, &deed, &v);
	if (v.decision != DECISION_ALLOW && !*v.reason && v.rule == NULL)
		abort();
	enum decision decision = v.decision;
	verdict_done(&v);
	return decision;
}

/* Returns whether the text is an incomplete command such as "a |", which more text
 * could complete. */
static bool is_open(const char *text)
{
	struct bash_tree t;

	bash_parse(&t, text, strlen(text));
	bool is_open = t.is_open;
	bash_tree_done(&t);
	return is_open;
}

static void check_judged(const struct rules *r, char *text)
{
	enum decision alone = judge(r, text);

	/* Skips texts that could end the line, the quotes or the substitution into
	 * which they are put below. */
	if (strpbrk(text, "\"'`\\$#<\n(){}") || strlen(text) > 512 || is_open(text))
		return;
	char *list = text_format("true; %s\nfalse", text), *inner = text_format("echo \"$(%s)\"", text),
	     *shell = text_format("bash -c -- '%s'", text);
	if (judge(r, list) < alone || judge(r, inner) < alone || judge(r, shell) < alone)
		abort();
	free(list);
	free(inner);
	free(shell);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = calloc(size + 1, 1), *command;
	struct list rules = { 0 };

	if (!text)
		abort();
	memcpy(text, data, size);
	command = strchr(text, '\n');
	if (command)
		*command++ = '\0';
	if (command)
		check_commands(command, size - (size_t)(command - text));
	if (command && rules_check(text, NULL) == 0) {
		list_add(&rules, text);
		struct rules *r = rules_new(&rules);
		check_judged(r, command);
		rules_free(r);
		list_done(&rules);
	}
	free(text);
	return 0;
}
