#include "sandbox/result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/own.h"
#include "base/utf8.h"

static const char *const status_names[] = {
	[RUN_EXITED] = "exited", [RUN_SIGNALED] = "signaled",
	[RUN_TIMEOUT] = "timeout", [RUN_OOM] = "oom",
	[RUN_SETUP_ERROR] = "setup-error",
};
_Static_assert(ARRAY_LEN(status_names) == RUN_STATUS_COUNT, "a status has no name");

void result_exited(struct result *r, int code)
{
	r->status = RUN_EXITED;
	r->exit_code = code;
}

void result_signaled(struct result *r, int signal)
{
	r->status = RUN_SIGNALED;
	r->signal = signal;
	r->exit_code = 128 + signal;
}

void result_timeout(struct result *r)
{
	r->status = RUN_TIMEOUT;
	r->exit_code = EXIT_TIMED_OUT;
}

void result_failed(struct result *r, int code, const struct err *error)
{
	r->status = RUN_SETUP_ERROR;
	r->exit_code = code;
	r->error = *error;
}

/* "text" with its quotes; control characters and what is no UTF-8 as \u00xx. */
static char *json_string(const char *text)
{
	size_t left = strlen(text);
	char *quoted = calloc(1, 6 * left + 3), *to = quoted;

	if (!quoted)
		abort();
	*to++ = '"';
	for (const unsigned char *at = (const unsigned char *)text; *at;) {
		size_t len = utf8_length(at, left);
		if (*at == '"' || *at == '\\')
			to += sprintf(to, "\\%c", *at);
		else if (*at < ' ' || *at == 0x7f || len == 0)
			to += sprintf(to, "\\u%04x", *at);
		else
			to += sprintf(to, "%.*s", (int)len, at);
		left -= len ? len : 1;
		at += len ? len : 1;
	}
	*to = '"';
	return quoted;
}

static char *json_error(const struct err *error)
{
	if (error->kind == ERR_NONE)
		return text_copy("null");
	AUTO_FREE char *message = json_string(error->text);
	AUTO_FREE char *remedy = error->remedy[0] ? json_string(error->remedy)
						  : text_copy("null");
	return text_format("{\"kind\":\"%s\",\"message\":%s,\"remedy\":%s}",
			   err_kind_name(error->kind), message, remedy);
}

char *result_json(const struct result *r)
{
	AUTO_FREE char *error = json_error(&r->error);
	AUTO_FREE char *signal = r->signal ? text_format("%d", r->signal) : text_copy("null");

	return text_format("{\"version\":1,\"status\":\"%s\",\"exit_code\":%d,\"signal\":%s,"
			   "\"wall_s\":%.6f,\"user_s\":%.6f,\"sys_s\":%.6f,"
			   "\"memory_peak_bytes\":null,\"pids_peak\":null,"
			   "\"degraded\":[],\"refused\":[],\"error\":%s}",
			   status_names[r->status], r->exit_code, signal, r->wall_s, r->user_s,
			   r->sys_s, error);
}
