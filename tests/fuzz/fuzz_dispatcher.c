/* Frames of a hostile executor.  It may end the sandbox by breaking the
 * protocol, and can do nothing else: observations are whole lines, and the
 * memory in use is bounded. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "actions/dispatcher.h"
#include "base/buffer.h"
#include "base/err.h"
#include "base/frame.h"
#include "policy/plugin_uses.h"
#include "protocol/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Two sessions; the second is being opened, and so is the first until its start
 * is reported.  Ids on the wire count from 1. */
static const char *const lines[] = {
	"{\"action\":\"run\",\"args\":{\"command\":\"a\"},\"session\":\"a\",\"id\":1}",
	"{\"action\":\"run\",\"args\":{\"command\":\"C-c\",\"is_input\":true},\"session\":\"a\"}",
	"{\"action\":\"run\",\"args\":{\"command\":\"b\"},\"session\":\"b\"}",
	"{\"action\":\"read\",\"args\":{\"path\":\"/f\"},\"session\":\"c\",\"id\":2}",
	"{\"action\":\"read\",\"args\":{\"path\":\"/f\"},\"session\":\"c\",\"id\":2}",
	"{\"action\":\"read\",\"args\":{\"path\":\"/f.png\"},\"session\":\"d\"}",
	"{\"action\":\"write\",\"args\":{\"path\":\"/f\",\"content\":\"x\"},\"session\":\"e\"}",
	"{\"action\":\"cancel\",\"args\":{\"id\":1}}",
	"{\"action\":\"edit\",\"args\":{\"path\":\"/f\",\"old_str\":\"x\"},\"session\":\"f\"}",
	("{\"action\":\"read\",\"args\":{\"path\":\"/f\",\"impl_source\":\"oh_aci\"},"
	 "\"session\":\"g\"}"),
	"{\"action\":\"stat\",\"args\":{\"path\":\"/f\"},\"session\":\"h\"}",
	"{\"action\":\"grep\",\"args\":{\"pattern\":\"x\"},\"session\":\"i\",\"id\":3}",
	"{\"action\":\"remove\",\"args\":{\"path\":\"/f\"},\"session\":\"j\"}",
	"{\"action\":\"cancel\",\"args\":{\"id\":3}}",
	"{\"action\":\"echo\",\"args\":{\"text\":\"x\"},\"session\":\"k\",\"id\":4}",
};

/* Whole lines, whose control characters are escaped. */
static void check_output(struct dispatcher_client *c)
{
	do {
		dispatcher_deliver(c);
		size_t len = buffer_len(c->out);
		const uint8_t *out = buffer_data(c->out);
		if (len && (out[0] != '{' || out[len - 1] != '\n'))
			abort();
		for (size_t i = 0; i < len; i++)
			if (out[i] < ' ' && out[i] != '\n')
				abort();
		buffer_consume(c->out, len);
	} while (dispatcher_is_behind(c));
}

static void start(struct dispatcher *d)
{
	while (dispatcher_start(d))
		buffer_consume(d->wire, buffer_len(d->wire));
}

static void answer(struct dispatcher *d, struct dispatcher_client *c,
		   const struct buffer *in)
{
	/* A second view of the same bytes, to which nothing is added. */
	struct buffer left = *in;
	struct frame f;
	struct err e;

	while (frame_next(&left, FRAME_MAX_FROM_EXECUTOR, &f, &e) > 0) {
		if (dispatcher_frame(d, &f, &e) < 0)
			return;
		buffer_consume(&left, FRAME_HEADER + f.len);
		start(d);
		check_output(c);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *env[] = { NULL }, name[] = "p";
	struct buffer wire, out, in;
	struct dispatcher_client c = { .out = &out, .name = "", .streams = true };
	struct dispatcher d;

	buffer_init(&wire, 64 << 20);
	buffer_init(&out, DISPATCHER_OUT_MAX);
	buffer_init(&in, 1 << 20);
	dispatcher_init(&d);
	d.wire = &wire;
	d.shell = (struct exec){ .flags = EXEC_PTY, .cwd = "/", .env = env };
	d.sandbox_info = (struct sandbox_info){ 10, "agent", "hutch", false };
	struct plugin_use plugin = { .name = name, .folder = name };
	const struct plugin_uses uses = { .items = &plugin, .count = 1 };
	plugin_table_fill(&d.plugins, &uses);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		dispatcher_line(&d, &c, lines[i], strlen(lines[i]));
	start(&d);
	if (buffer_append(&in, data, size))
		answer(&d, &c, &in);
	check_output(&c);
	dispatcher_end(&d, "the end");
	check_output(&c);
	if (!dispatcher_is_idle(&c))
		abort();
	dispatcher_leave(&d, &c);
	dispatcher_done(&d);
	buffer_done(&wire);
	buffer_done(&out);
	buffer_done(&in);
	return 0;
}
