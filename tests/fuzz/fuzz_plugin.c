/* Lines of a hostile plugin.  It may end its own process by breaking the contract, and can
 * do nothing else: each answer is a message that the supervisor takes, whose texts are the
 * content before it. */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/frame.h"
#include "base/own.h"
#include "executor/plugin/plugin.h"
#include "executor/plugin/plugins.h"
#include "executor/process/processes.h"
#include "executor/session/sessions.h"
#include "executor/wire/send_queue.h"
#include "protocol/plugin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CALL 7

static const char manifest[] =
	"{\"name\":\"p\",\"version\":\"1\",\"command\":[\"x\"],\"actions\":{\"a\":{\"answer\":{"
	"\"content\":\"text\",\"p\":\"png\",\"l\":[\"png\"],\"w\":[\"text\"],\"n\":\"number\","
	"\"f\":\"flag\",\"m\":[\"flag\"]}}}}";

/* Checks the message that ends a reply, and the length of the reply's text. */
static void check_end(const struct reply *r)
{
	struct plugin_answer a;
	struct frame f;
	const char *reason;
	uint64_t total = 0;
	uint32_t state;
	struct err e;

	if (buffer_len(&r->end) == 0) { /* a piece of output */
		if (r->type != MSG_OUTPUT || r->id != CALL)
			abort();
		return;
	}
	if (frame_next(&r->end, FRAME_MAX_FROM_EXECUTOR, &f, &e) != 1)
		abort();
	if (f.type == MSG_STATE) {
		if (plugin_get_state(&f, &state, &reason, &e) < 0)
			abort();
		return;
	}
	if (f.type != MSG_ANSWERED || plugin_get_answer(&f, &a, &e) < 0)
		abort();
	for (uint32_t i = 0; i < a.part_count; i++)
		total += plugin_part_len(&a.parts[i]);
	if (total != r->len)
		abort();
}

static void play(struct plugin *p, const uint8_t *data, size_t size)
{
	int ends[2];

	if (pipe(ends) < 0 || fcntl(ends[1], F_SETPIPE_SZ, 1 << 20) < 0)
		abort();
	(void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
	p->out = ends[0];
	if (write(ends[1], data, size) != (ssize_t)size)
		abort();
	(void)close(ends[1]);
	while (p->out >= 0 && plugin_read(p, 0))
		;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct send_queue replies = { 0 };
	struct processes processes = { 0 };
	struct sessions sessions = { 0 };
	struct plugins set = { .replies = &replies, .processes = &processes,
			       .sessions = &sessions, .proc = -1 };
	struct plugin p = { .set = &set, .id = 1, .in = -1, .out = -1, .errors = -1,
			    .status = -1 };
	struct err e;

	/* The editor would edit files of this machine. */
	if (size < 2 || size > 512 << 10 || memmem(data, size, "ask", 3))
		return 0;
	if (manifest_read(manifest, strlen(manifest), "p", &p.manifest, &e) < 0)
		abort();
	p.name = text_copy("p");
	plugin_let_go(&p);
	p.phase = data[0] & 1 ? PLUGIN_UP : PLUGIN_BEGINS;
	if (data[0] & 2)
		p.call = (struct call){ .id = CALL, .is_streamed = true,
					.is_sent = p.phase == PLUGIN_UP,
					.action = p.manifest.actions[0].name,
					.line = p.phase == PLUGIN_UP ? NULL : text_copy("{}\n") };
	play(&p, data + 1, size - 1);
	for (const struct reply *r = replies.first; r; r = r->next)
		check_end(r);
	plugin_let_go(&p);
	buffer_done(&p.to);
	buffer_done(&p.from);
	free(p.call.line);
	free(p.name);
	free(p.failure);
	manifest_done(&p.manifest);
	send_queue_done(&replies);
	return 0;
}
