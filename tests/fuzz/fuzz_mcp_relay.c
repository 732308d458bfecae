/* The client and the servers are hostile: the input is a row of steps, each a byte that
 * says what happens, a length, and bytes.  All that the relay sends is a message on one
 * line, and goes to a side that is there. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/relay/mcp_message.h"
#include "gateway/relay/mcp_relay.h"
#include "gateway/relay/mcp_servers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool claim)
{
	if (!claim)
		abort();
}

static void take_lines(struct mcp_relay *r, size_t count)
{
	struct mcp_line line;
	struct mcp_message m;

	while (mcp_relay_next(r, &line)) {
		must(line.to == MCP_CLIENT || line.to < count);
		must(line.len == strlen(line.text) && !strpbrk(line.text, "\r\n"));
		must(mcp_message_read(&m, line.text, line.len) != MCP_BAD);
		mcp_message_done(&m);
		free(line.text);
	}
	must(mcp_relay_waiting(r) == 0);
}

static void step(struct mcp_relay *r, size_t server, uint8_t what, const uint8_t *bytes,
		 size_t len)
{
	const int64_t now = 1000 * (int64_t)(what >> 4);

	switch (what & 3) {
	case 0:
		(void)mcp_relay_post(r, (const char *)bytes, len, now);
		break;
	case 1:
		mcp_relay_heard(r, server, bytes, len);
		break;
	case 2:
		mcp_relay_heard(r, server, bytes, len);
		mcp_relay_heard(r, server, "\n", 1);
		break;
	default:
		if (what & 0x80)
			mcp_relay_ended(r, server);
		mcp_relay_tick(r, now);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = { "a", "b", "a_b" };
	const size_t count = size > 0 && *data & 1 ? 1 : 3;
	struct mcp_servers servers;
	size_t at = 1;

	(void)mcp_servers_read(&servers, (const char *)data, size, NULL);
	mcp_servers_done(&servers);
	struct mcp_relay *r = mcp_relay_new(names, count);
	while (at + 2 < size) {
		uint8_t what = data[at];
		size_t len = data[at + 1], left = size - at - 2;
		len = len < left ? len : left;
		step(r, (what >> 2) % count, what, data + at + 2, len);
		take_lines(r, count);
		at += 2 + len;
	}
	mcp_relay_free(r);
	return 0;
}
