#include "oci/log.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/own.h"
#include "base/term_escape.h"

/* The file's path and form, as variables of this process's environment: the process has
 * no global variables, and errors also come up deep below main(). */
#define LOG_PATH "HUTCH_OCI_LOG"
#define LOG_FORM "HUTCH_OCI_LOG_FORMAT"

int log_open(const char *path, bool is_json, struct err *e)
{
	if (!path)
		return unsetenv(LOG_PATH);
	if (!strncmp(path, "file:", 5))
		path += 5;
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (fd < 0)
		return err_sys(e, "open --log %s", path);
	if (setenv(LOG_PATH, path, 1) || setenv(LOG_FORM, is_json ? "json" : "text", 1))
		abort(); /* setenv(3) fails only for want of memory */
	return 0;
}

static char *line_of(const char *level, const char *text)
{
	const char *form = getenv(LOG_FORM);
	struct timespec now;
	struct tm tm;
	char stamp[40];
	struct buffer b;

	(void)clock_gettime(CLOCK_REALTIME, &now); /* can't fail */
	(void)gmtime_r(&now.tv_sec, &tm);	   /* fails only beyond the year 2^31 */
	(void)strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ", &tm); /* fits */
	if (!form || strcmp(form, "json") != 0) {
		AUTO_FREE char *safe = term_escape_line(text);
		return text_format("time=\"%s\" level=%s msg=\"%s\"\n", stamp, level,
				   safe);
	}
	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_text(&b, "level", level);
	json_write_text(&b, "msg", text);
	json_write_text(&b, "time", stamp);
	json_write_close(&b, "}\n");
	return json_write_end(&b);
}

static void report(const char *level, const struct err *e)
{
	const char *path = getenv(LOG_PATH);
	AUTO_FREE char *text = *e->remedy ? text_format("%s (%s)", e->text, e->remedy)
					  : text_copy(e->text);
	AUTO_FREE char *safe = term_escape_line(text);

	(void)fprintf(stderr, "hutch-oci: %s\n", safe); /* there is no other place */
	if (!path)
		return;
	AUTO_FREE char *line = line_of(level, text);
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd >= 0)
		(void)io_write_all(fd, line, strlen(line)); /* stderr has it */
}

void log_error(const struct err *e)
{
	report("error", e);
}

void log_warning(const struct err *e)
{
	report("warning", e);
}
