#include "gateway/request_log.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json_write.h"
#include "base/list.h"
#include "base/own.h"
#include "sandbox/kernel/log_level.h"

/* A line has at most PIPE_BUF bytes, also where each of these is escaped: a pipe that is ready
 * takes such a line without waiting (pipe(7)). */
#define METHOD_MAX	32
#define PATH_MAX_LOGGED 400

char *request_log_fields(const struct request_log *l, const struct request_entry *x)
{
	AUTO_FREE char *method = strndup(x->method, METHOD_MAX);
	AUTO_FREE char *path = strndup(x->path, PATH_MAX_LOGGED);
	struct buffer b;

	json_write_begin(&b);
	json_write_text(&b, "method", method);
	json_write_text(&b, "path", path);
	if (x->status)
		json_write_number(&b, "status", x->status);
	else
		json_write_text(&b, "status", NULL);
	json_write_number(&b, "duration_ms", x->duration_ms);
	if (l->lost > 0)
		json_write_number(&b, "lost", (int64_t)l->lost);
	return json_write_end(&b);
}

void request_log_add(struct request_log *l, const struct request_entry *x)
{
	const enum log_level level = x->status >= 500 ? LOG_LEVEL_WARN : LOG_LEVEL_INFO;
	struct pollfd to = { .fd = STDERR_FILENO, .events = POLLOUT };

	if (level > log_level_now())
		return;
	if (poll(&to, 1, 0) != 1 || !(to.revents & POLLOUT)) {
		l->lost++;
		return;
	}
	AUTO_FREE char *fields = request_log_fields(l, x);
	const struct log_level_entry entry = { .level = level,
					       .sandbox = x->sandbox,
					       .component = "serve",
					       .message = "request",
					       .fields = fields };
	log_level_say(&entry);
	l->lost = 0;
}
