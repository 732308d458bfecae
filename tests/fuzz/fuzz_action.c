/* Lines of actions are arbitrary bytes.  An accepted action has its values in
 * range, a refused one has a reason, and the dispatcher answers in whole lines in any
 * case.  Each line of the input is one action. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "actions/action.h"
#include "actions/dispatcher.h"
#include "base/buffer.h"
#include "base/err.h"
#include "protocol/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every errand (a search, a listing or a git command in a process of its own) that the
 * dispatcher sends is valid for the executor. */
static bool is_errand(const struct action *a)
{
	bool has_limit = a->kind == ACT_LIST || a->kind == ACT_GLOB ||
			 a->kind == ACT_GREP || a->kind == ACT_GIT_CHANGES;
	bool has_other = a->kind == ACT_MOVE || a->kind == ACT_GLOB ||
			 a->kind == ACT_GREP ||
			 (a->kind >= ACT_GIT_CLONE && a->kind != ACT_GIT_HOOKS);
	bool may_be_empty = a->kind == ACT_GIT_CHANGES || a->kind == ACT_GIT_DIFF ||
			    a->kind == ACT_GIT_SETUP;
	bool has_include = a->kind == ACT_GREP || a->kind == ACT_GIT_CLONE ||
			   a->kind == ACT_GIT_SETUP;

	return *a->path && strlen(a->path) < 4096 && a->timeout_s > 0 &&
	       (a->limit > 0) == has_limit &&
	       (a->depth > 0 ? a->kind == ACT_LIST || a->kind == ACT_GIT_CLONE
			     : a->kind != ACT_LIST) &&
	       (a->other != NULL) == has_other &&
	       (!a->other || *a->other || may_be_empty) &&
	       (a->include != NULL) == has_include;
}

static void check(const char *line, size_t len)
{
	struct action a;
	struct err e = { 0 };

	if (action_decode(line, len, &a, &e) < 0) {
		if (!e.text[0])
			abort();
	} else if (a.kind >= ACT_KIND_COUNT || strlen(a.session) > ACTION_NAME_MAX ||
		   strlen(a.client) > ACTION_NAME_MAX ||
		   (a.kind == ACT_RUN && (!a.command || !(a.timeout_s > 0))) ||
		   (a.kind == ACT_READ && !*a.path) ||
		   (a.kind == ACT_EDIT && (!*a.path || !a.command)) ||
		   (a.range && a.range[0] != '[') ||
		   (action_is_errand(&a) && !is_errand(&a)) ||
		   (a.kind == ACT_WRITE && (!*a.path || !a.content))) {
		abort();
	}
	action_done(&a);
}

/* Each line that was written is complete, and none is empty. */
static void check_output(struct buffer *out)
{
	size_t len = buffer_len(out);

	if (len && (buffer_data(out)[0] != '{' || buffer_data(out)[len - 1] != '\n'))
		abort();
	buffer_consume(out, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *env[] = { NULL };
	struct buffer wire, out;
	struct dispatcher_client c = { .out = &out, .name = "", .streams = true };
	struct dispatcher d;

	buffer_init(&wire, 64 << 20);
	buffer_init(&out, DISPATCHER_OUT_MAX);
	dispatcher_init(&d);
	d.wire = &wire;
	d.shell = (struct exec){ .flags = EXEC_PTY, .cwd = "/", .env = env };
	d.sandbox_info = (struct sandbox_info){ 10, "agent", "hutch", false };
	while (size > 0) {
		const uint8_t *stop = memchr(data, '\n', size);
		size_t len = stop ? (size_t)(stop - data) : size;
		check((const char *)data, len);
		dispatcher_line(&d, &c, (const char *)data, len);
		dispatcher_start(&d);
		check_output(&out);
		data += stop ? len + 1 : len;
		size -= stop ? len + 1 : len;
	}
	dispatcher_end(&d, "the end");
	check_output(&out);
	dispatcher_leave(&d, &c);
	dispatcher_done(&d);
	buffer_done(&wire);
	buffer_done(&out);
	return 0;
}
