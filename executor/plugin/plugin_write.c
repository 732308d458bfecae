#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/json_write.h"
#include "base/own.h"
#include "executor/plugin/plugin.h"
#include "policy/json/json.h"

/* Writes a value of JSON on one line: that of the supervisor may have line ends between
 * its values, and only there, since a string has none. */
static void put_json(struct buffer *b, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		char c = text[i] == '\n' || text[i] == '\r' ? ' ' : text[i];
		(void)buffer_append(b, &c, 1); /* cannot fail: the buffer has no bound */
	}
}

char *plugin_call_line(const struct plugin_call *c, uint32_t id, const char *cwd,
		       uint64_t timeout_ms, const struct json_at *args)
{
	struct buffer b;
	size_t len = 0;
	const char *text = json_type(args) == JSON_NONE ? "{}" : json_source(args, &len);

	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_number(&b, "call", id);
	json_write_text(&b, "action", c->action);
	json_write_text(&b, "cwd", cwd);
	json_write_format(&b, "timeout", "%llu.%03u",
			  (unsigned long long)(timeout_ms / 1000),
			  (unsigned)(timeout_ms % 1000));
	json_write_raw(&b, "args", "");
	put_json(&b, text, len ? len : strlen(text));
	json_write_close(&b, "}\n");
	return json_write_end(&b);
}

bool plugin_say(struct plugin *p, const char *line, size_t len)
{
	return p->in >= 0 && buffer_append(&p->to, line, len);
}

void plugin_write(struct plugin *p, int64_t now)
{
	while (p->in >= 0 && buffer_len(&p->to) > 0) {
		ssize_t n = write(p->in, buffer_data(&p->to), buffer_len(&p->to));
		if (n < 0 && (errno == EAGAIN || p->end.stage != EXEC_STAGE_NONE))
			return;
		if (n < 0) /* EPIPE: the process has closed its descriptor 0 */
			return plugin_fail(p, now, "it reads no lines any more");
		buffer_consume(&p->to, (size_t)n);
	}
	if (buffer_len(&p->to) == 0) { /* gives back the memory of a long line */
		size_t max = p->to.max;
		buffer_done(&p->to);
		buffer_init(&p->to, max);
	}
}

void plugin_send_call(struct plugin *p, int64_t now)
{
	AUTO_FREE char *line = p->call.line;

	p->call.line = NULL;
	p->call.is_sent = true;
	p->due = now + (int64_t)p->call.timeout_ms;
	if (!plugin_say(p, line, strlen(line)))
		return plugin_fail(p, now, "it does not read its lines");
	plugin_write(p, now);
}
