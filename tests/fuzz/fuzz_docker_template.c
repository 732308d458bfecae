/* A template of `docker --format` and, behind a 0 byte, the JSON that it is about; without
 * one the JSON is an object as `docker inspect` has it.  The form of a template that runs
 * is valid without data, too, and a template prints the same text each time. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/json_write.h"
#include "docker/template.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char container[] =
	"{\"Id\":\"0123456789ab\",\"Name\":\"/box\",\"Image\":\"host\",\"State\":{\"Status\":"
	"\"running\",\"Running\":true,\"Pid\":7,\"ExitCode\":0},\"Args\":[\"-c\",\"x y\"],"
	"\"Mounts\":[{\"Source\":\"/a\",\"Destination\":\"/b\",\"RW\":true}],\"Config\":{"
	"\"Env\":[\"PATH\",\"HOME\"],\"Labels\":{\"com.x/y\":\"1\"},\"User\":null},"
	"\"NetworkSettings\":{\"Ports\":{\"8000/tcp\":[{\"HostIp\":\"127.0.0.1\",\"HostPort\":"
	"\"9000\"}],\"9/tcp\":[]},\"Networks\":{}},\"Size\":1.5e3}";

/* Returns the output, allocated, or NULL. */
static char *run(const char *text, struct json_view view)
{
	struct buffer out;
	struct err e;

	json_write_begin(&out);
	int rc = template_run(text, view, &out, &e);
	char *got = json_write_end(&out);
	if (rc == 0)
		return got;
	if (!*e.text)
		abort();
	free(got);
	return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = calloc(size + 1, 1);
	struct json_view view;
	struct err e;

	if (!text)
		abort();
	if (size)
		memcpy(text, data, size);
	const size_t len = strlen(text);
	const char *json = len < size ? text + len + 1 : container;
	const bool is_valid = template_check(text, &e) == 0;
	if (json_view_scan(&view, json, strlen(json), NULL) == 0) {
		char *once = run(text, view), *again = run(text, view);
		if ((once && !is_valid) || !once != !again ||
		    (once && strcmp(once, again) != 0))
			abort();
		free(once);
		free(again);
	}
	free(text);
	return 0;
}
