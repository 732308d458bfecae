#include "cli/common/ask.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define ANSWER_MAX 16 /* size of an answer with its newline; the rest of a longer one is
		       * not looked at */

bool ask_is_possible(void)
{
	return isatty(0) && isatty(2);
}

/* Reads one line without its newline; -1 at the end of input. */
static int read_answer(FILE *from, char ret[ANSWER_MAX])
{
	if (!fgets(ret, ANSWER_MAX, from)) {
		(void)fputc('\n', stderr); /* else the next text would stand behind the
					    * question */
		return -1;
	}
	for (int c = 0; !strchr(ret, '\n') && c != '\n' && c != EOF;)
		c = fgetc(from);
	ret[strcspn(ret, "\n")] = '\0';
	return 0;
}

bool ask_yes(FILE *from, const char *question)
{
	char answer[ANSWER_MAX];

	(void)fprintf(stderr, "%s [y/N] ", question);
	return read_answer(from, answer) == 0 &&
	       (!strcasecmp(answer, "y") || !strcasecmp(answer, "yes"));
}

int ask_letter(FILE *from, const char *question)
{
	char answer[ANSWER_MAX];

	(void)fprintf(stderr, "%s ", question);
	if (read_answer(from, answer) < 0)
		return -1;
	return answer[0] && !answer[1] ? tolower((unsigned char)answer[0]) : '?';
}
