#include "sandbox/kernel/log_level.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/own.h"
#include "base/term_escape.h"

static const char *const names[] = {
	[LOG_LEVEL_ERROR] = "error", [LOG_LEVEL_WARN] = "warn", [LOG_LEVEL_INFO] = "info",
	[LOG_LEVEL_DEBUG] = "debug",
};
_Static_assert(ARRAY_LEN(names) == LOG_LEVEL_COUNT, "a level has no name");

static const char *const formats[] = { "text", "json" };

const char *log_level_name(enum log_level level)
{
	return (unsigned)level < LOG_LEVEL_COUNT ? names[level] : names[LOG_LEVEL_ERROR];
}

/* Returns the index of the variable's value in `words`; `unset` if the variable has
 * no value; -1 if its value is not among them. */
static int find(const char *variable, const char *const *words, int count, int unset)
{
	const char *value = getenv(variable);

	if (!value || !*value)
		return unset;
	for (int i = 0; i < count; i++)
		if (!strcmp(words[i], value))
			return i;
	return -1;
}

int log_level_check(struct err *e)
{
	if (find(LOG_LEVEL_VARIABLE, names, LOG_LEVEL_COUNT, 0) < 0)
		return err_set(e, ERR_USAGE,
			       "--log-level and " LOG_LEVEL_VARIABLE " take error, warn, "
			       "info or debug, not '%.60s'",
			       getenv(LOG_LEVEL_VARIABLE));
	if (find(FORMAT_VARIABLE, formats, ARRAY_LEN(formats), 0) < 0)
		return err_set(e, ERR_USAGE,
			       "--log-format and " FORMAT_VARIABLE " take text or "
			       "json, not '%.60s'",
			       getenv(FORMAT_VARIABLE));
	return 0;
}

enum log_level log_level_now(void)
{
	const int level =
		find(LOG_LEVEL_VARIABLE, names, LOG_LEVEL_COUNT, LOG_LEVEL_WARN);

	return level < 0 ? LOG_LEVEL_WARN : (enum log_level)level;
}

bool log_level_wants_json(void)
{
	return find(FORMAT_VARIABLE, formats, ARRAY_LEN(formats), 0) == 1;
}

static char *time_now(void)
{
	struct timespec now;
	char text[32];
	struct tm tm;

	(void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail: the arguments are
						    * valid */
	(void)gmtime_r(&now.tv_sec, &tm);
	(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	return text_format("%s.%03ldZ", text, now.tv_nsec / 1000000);
}

char *log_level_line(const struct log_level_entry *x)
{
	AUTO_FREE char *time = time_now();
	AUTO_FREE char *sandbox = json_write_quoted(x->sandbox);
	AUTO_FREE char *message = json_write_quoted(x->message);

	return text_format(
		"{\"time\":\"%s\",\"level\":\"%s\",\"sandbox\":%s,\"component\":\"%s\","
		"\"message\":%s,\"fields\":{%s}}",
		time, log_level_name(x->level), sandbox, x->component, message,
		x->fields ? x->fields : "");
}

void log_level_say(const struct log_level_entry *x)
{
	if (x->level > log_level_now())
		return;
	if (log_level_wants_json()) {
		AUTO_FREE char *line = log_level_line(x);
		(void)fprintf(stderr, "%s\n", line);
		return;
	}
	AUTO_FREE char *message = term_escape_line(x->message);
	AUTO_FREE char *fields = term_escape_line(x->fields ? x->fields : "");
	(void)fprintf(stderr, "hutch: %s: %s%s%s\n", log_level_name(x->level), message,
		      *fields ? " " : "", fields);
}
