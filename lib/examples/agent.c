/* An agent's host: makes a sandbox, runs commands and actions in it, watches, and ends it. */
#include <err.h>
#include <stdio.h>
#include <string.h>

#include "hutch.h"

/* Shows what the process prints as it comes; its exit code, when it has ended. */
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
	const char *const args[] = { "--tmpfs", "/scratch", argc > 1 ? argv[1] : "agent", NULL };
	const char *const count[] = { "sh", "-c", "for i in 1 2 3; do echo $i; done; exit 7", NULL };
	const struct hutch_exec command = { .size = sizeof(command), .argv = count };
	struct hutch_message *m;
	struct hutch_error e;
	struct hutch *box;
	int64_t process = 0;

	if (hutch_create(args, NULL, &box, &e) < 0 || hutch_ready(box, -1, &e) < 0)
		errx(1, "%s (%s)", e.message, e.remedy);
	if (hutch_wait(box, hutch_exec(box, &command, HUTCH_WAIT, &e), -1, &m, &e) < 0)
		errx(1, "%s", e.message);
	hutch_json_integer(m->json, "process", &process);
	hutch_message_free(m);
	printf("ended with %d\n", (int)watch(box, process));
	if (hutch_wait(box, hutch_act(box, "{\"action\":\"run\",\"args\":{\"command\":\"pwd\"}}", 0,
				      HUTCH_WAIT, &e), -1, &m, &e) < 0)
		errx(1, "%s", e.message);
	char *content = hutch_json_string(m->json, "content");
	printf("acted in %s\n", content ? content : "?");
	hutch_message_free(m);
	if (hutch_wait(box, hutch_stop(box, 0, HUTCH_WAIT, &e), -1, NULL, &e) < 0)
		errx(1, "%s", e.message);
	hutch_close(box);
	return 0;
}
