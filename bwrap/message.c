#include "bwrap/message.h"

#include <stdio.h>
#include <syslog.h>

#include "base/err.h"
#include "base/own.h"
#include "base/term_escape.h"

static void print(int level, bool has_level, const char *before, const char *text)
{
	AUTO_FREE char *shown = term_escape_line(text);

	if (has_level)
		(void)fprintf(stderr, "<%d>", level);
	(void)fprintf(stderr, "bwrap: %s%s\n", before, shown);
}

void message_error(const struct err *e, bool has_level)
{
	print(LOG_ERR, has_level, "", e->text);
	if (*e->remedy)
		print(LOG_ERR, has_level, "hint: ", e->remedy);
}

void message_warning(const char *text, bool has_level)
{
	print(LOG_WARNING, has_level, "", text);
}
