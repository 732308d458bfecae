/* hutch logs: what processes printed whose output the supervisor keeps. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "base/visible.h"
#include "policy/quantity.h"
#include "sandbox/cli/client.h"
#include "sandbox/cli/flags.h"
#include "sandbox/cli/report.h"
#include "sandbox/cli/verbs.h"
#include "sandbox/result.h"

struct printer {
	struct client client;
	struct err error; /* kind ERR_NONE: all was written */
};

/* A terminal is shown control characters; nothing of it is obeyed. */
static int write_out(int fd, const uint8_t *data, size_t len)
{
	struct buffer shown;

	if (!isatty(fd))
		return io_write_all(fd, data, len);
	buffer_init(&shown, 4 * len + 1);
	visible_append(&shown, data, len);
	int rc = io_write_all(fd, buffer_data(&shown), buffer_len(&shown));
	buffer_done(&shown);
	return rc;
}

/* Its text, or its bytes; NULL: neither. */
static uint8_t *output_of(struct reply params, size_t *ret_len)
{
	char *text = reply_string(reply_get(params, "data"));

	if (!text)
		return reply_base64(reply_get(params, "base64"), ret_len);
	*ret_len = strlen(text);
	return (uint8_t *)text;
}

static void take(void *who, const struct message *m)
{
	struct printer *p = who;
	const int fd = reply_is(reply_get(m->params, "stream"), "stderr") ? 2 : 1;
	size_t len = 0;

	if (!reply_is(m->method, "output") || p->error.kind != ERR_NONE)
		return;
	AUTO_FREE uint8_t *data = output_of(m->params, &len);
	if (!data || write_out(fd, data, len) == 0)
		return;
	/* There is no use in the rest. */
	(void)err_sys(&p->error, "write to %s", fd == 1 ? "stdout" : "stderr");
	(void)shutdown(p->client.fd, SHUT_RDWR);
}

static int print(const char *name, const char *params, struct err *e)
{
	struct printer p = { 0 };
	struct reply answer;

	if (client_open(&p.client, name, e) < 0)
		return -1;
	p.client.who = &p;
	p.client.take = take;
	int rc = client_call(&p.client, "logs", params, &answer, e);
	client_done(&p.client);
	if (p.error.kind != ERR_NONE) {
		*e = p.error;
		return -1;
	}
	return rc;
}

static int read_tail(const char *text, char **ret, struct err *e)
{
	uint64_t lines;

	if (!text) {
		*ret = text_copy("null");
		return 0;
	}
	if (quantity_parse_number(text, &lines, e) < 0)
		return err_in(e, "--tail");
	*ret = text_format("%llu", (unsigned long long)(lines < INT32_MAX ? lines : INT32_MAX));
	return 0;
}

int logs_main(char **argv)
{
	bool follows = false;
	const char *tail = NULL;
	const struct flag flags[] = {
		{ 'f', "follow", NULL, "and what comes, until the sandbox ends", &follows, NULL },
		{ 'n', "tail", "N", "the last N lines only", NULL, &tail },
	};
	const struct usage usage = {
		.synopsis = "hutch logs [-f] [--tail N] NAME",
		.about = "Prints what is kept of the output of detached processes.",
		.flags = flags, .count = ARRAY_LEN(flags), .operands_min = 1, .operands_max = 1,
	};
	AUTO_FREE char *lines = NULL;
	struct err e;
	enum flags_result got = flags_begin(argv, &usage);

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	if (read_tail(tail, &lines, &e) == 0) {
		AUTO_FREE char *params = text_format("{\"follow\":%s,\"tail\":%s}",
						     follows ? "true" : "false", lines);
		if (print(argv[0], params, &e) == 0)
			return 0;
	}
	report_error(&e);
	return EXIT_HUTCH;
}
