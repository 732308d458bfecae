/* An agent's host program: makes a sandbox, runs a command in it, acts, and ends it. */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>

#include "hutch.h"

/* Waits for the answer to a call; exits on an error. */
static struct hutch_message *answer(struct hutch *box, int64_t call,
				    struct hutch_error *e)
{
	struct hutch_message *m;

	if (hutch_wait(box, call, -1, &m, e) < 0)
		errx(1, "%s", e->message);
	return m;
}

/* Shows the output of a process as it comes, and returns its exit code. */
static int64_t watch(struct hutch *box, int64_t process)
{
	struct hutch_message *m;
	int64_t code = -1;

	while (code < 0 && hutch_next(box, -1, &m, NULL) > 0) {
		if (m->type == HUTCH_OUTPUT && m->process == process)
			fwrite(m->data, 1, m->data_len, m->stream == 2 ? stderr : stdout);
		if (m->type == HUTCH_EVENT && m->process == process)
			hutch_json_integer(m->json, "exit_code", &code);
		hutch_message_free(m);
	}
	return code;
}

int main(int argc, char **argv)
{
	const char *const flags[] = { "--ttl", "1h", argc > 1 ? argv[1] : "box", NULL };
	const char *const count[] = { "sh", "-c", "seq 3; exit 7", NULL };
	const struct hutch_exec command = { .size = sizeof(command), .argv = count };
	const char *const action = "{\"action\":\"run\",\"args\":{\"command\":\"pwd\"}}";
	struct hutch_message *m;
	struct hutch_error e;
	struct hutch *box;
	int64_t process = 0;

	if (hutch_create(flags, NULL, &box, &e) < 0 || hutch_ready(box, -1, &e) < 0)
		errx(1, "%s (%s)", e.message, e.remedy);
	m = answer(box, hutch_exec(box, &command, HUTCH_WAIT, &e), &e);
	hutch_json_integer(m->json, "process", &process);
	hutch_message_free(m);
	printf("ended with %d\n", (int)watch(box, process));
	m = answer(box, hutch_act(box, action, 0, HUTCH_WAIT, &e), &e);
	char *content = hutch_json_string(m->json, "content");
	hutch_message_free(m);
	printf("acted in %s\n", content ? content : "?");
	free(content);
	hutch_message_free(answer(box, hutch_stop(box, 0, HUTCH_WAIT, &e), &e));
	hutch_close(box);
	return 0;
}
