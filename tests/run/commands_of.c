/* commands_of -- prints what policy/commands.h finds in texts for bash.
 *
 *	commands_of names|tree	texts from stdin, a 0 byte behind each
 *
 * names: for each text, the reason why commands may be hidden ("" without one), then the
 * name of each program, then an empty text.  tree: for each text its syntax tree
 * (tests/bash_show.h).  All are followed by a 0 byte. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/bash/tree.h"
#include "policy/commands.h"
#include "tests/bash_show.h"

static void put(const char *text)
{
	(void)fwrite(text, 1, strlen(text) + 1, stdout);
}

static void put_names(const char *text, size_t len)
{
	struct commands c;

	commands_read(&c, text, len);
	put(c.why ? c.why : "");
	for (size_t i = 0; i < c.count; i++)
		if (*command_program(&c.items[i]))
			put(command_program(&c.items[i]));
	put("");
	commands_done(&c);
}

static void put_tree(const char *text, size_t len)
{
	struct bash_tree tree;

	bash_parse(&tree, text, len);
	if (tree.why)
		(void)printf("%s", tree.why);
	else
		bash_show(stdout, tree.list);
	put("");
	bash_tree_done(&tree);
}

int main(int argc, char **argv)
{
	char *text = NULL;
	size_t room = 0;
	ssize_t len;

	if (argc != 2)
		return 2;
	while ((len = getdelim(&text, &room, 0, stdin)) > 0) {
		if (text[len - 1])
			return 2; /* the last text does not end with a 0 byte */
		if (!strcmp(argv[1], "names"))
			put_names(text, (size_t)len - 1);
		else
			put_tree(text, (size_t)len - 1);
	}
	free(text);
	return ferror(stdin) || fflush(stdout) ? 1 : 0;
}
