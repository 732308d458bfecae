#include "sandbox/result.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/own.h"

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

void result_oom(struct result *r, const struct err *error)
{
	result_signaled(r, SIGKILL);
	r->status = RUN_OOM;
	r->error = *error;
}

void result_failed(struct result *r, int code, const struct err *error)
{
	r->status = RUN_SETUP_ERROR;
	r->exit_code = code;
	r->error = *error;
}

/* How many bytes of UTF-8 start at `at`; 0 where there is no such character,
 * since JSON has room for nothing else.  The second byte's range keeps out
 * overlong forms, surrogates and what is above U+10FFFF (RFC 3629). */
static size_t utf8_len(const unsigned char *at)
{
	static const struct {
		unsigned char first, last, low, high; /* first byte; second byte */
		size_t len;
	} forms[] = {
		{ 0x00, 0x7f, 0x00, 0xff, 1 }, { 0xc2, 0xdf, 0x80, 0xbf, 2 },
		{ 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
		{ 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
		{ 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 },
		{ 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};

	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		if (at[0] < forms[i].first || at[0] > forms[i].last)
			continue;
		if (forms[i].len > 1 && (at[1] < forms[i].low || at[1] > forms[i].high))
			return 0;
		for (size_t k = 2; k < forms[i].len; k++)
			if ((at[k] & 0xc0) != 0x80)
				return 0;
		return forms[i].len;
	}
	return 0;
}

/* "text" with its quotes; control characters and what is no UTF-8 as \u00xx. */
static char *json_string(const char *text)
{
	char *quoted = calloc(1, 6 * strlen(text) + 3), *to = quoted;

	if (!quoted)
		abort();
	*to++ = '"';
	for (const unsigned char *at = (const unsigned char *)text; *at;) {
		size_t len = utf8_len(at);
		if (*at == '"' || *at == '\\')
			to += sprintf(to, "\\%c", *at);
		else if (*at < ' ' || *at == 0x7f || len == 0)
			to += sprintf(to, "\\u%04x", *at);
		else
			to += sprintf(to, "%.*s", (int)len, at);
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

static char *json_count(uint64_t count)
{
	return count ? text_format("%llu", (unsigned long long)count) : text_copy("null");
}

/* "memory","cpus" */
static char *json_degraded(unsigned degraded)
{
	static const char *const flags[] = { "memory", "cpus", "pids-limit", "disk" };
	char *names = text_copy("");

	for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
		if (!(degraded & 1u << i))
			continue;
		char *more = text_format("%s%s\"%s\"", names, *names ? "," : "", flags[i]);
		free(names);
		names = more;
	}
	return names;
}

char *result_json(const struct result *r)
{
	AUTO_FREE char *error = json_error(&r->error);
	AUTO_FREE char *signal = r->signal ? text_format("%d", r->signal) : text_copy("null");
	AUTO_FREE char *memory = json_count(r->memory_peak);
	AUTO_FREE char *pids = json_count(r->pids_peak);
	AUTO_FREE char *degraded = json_degraded(r->degraded);

	return text_format("{\"version\":1,\"status\":\"%s\",\"exit_code\":%d,\"signal\":%s,"
			   "\"wall_s\":%.6f,\"user_s\":%.6f,\"sys_s\":%.6f,"
			   "\"memory_peak_bytes\":%s,\"pids_peak\":%s,"
			   "\"degraded\":[%s],\"refused\":[],\"error\":%s}",
			   status_names[r->status], r->exit_code, signal, r->wall_s, r->user_s,
			   r->sys_s, memory, pids, degraded, error);
}
