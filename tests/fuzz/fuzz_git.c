/* The report of the inside about git's output, with any bytes: it is refused,
 * or becomes valid JSON.  The first byte is the kind of action. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "actions/action.h"
#include "actions/observe.h"
#include "actions/observe_git.h"
#include "base/buffer.h"
#include "base/own.h"
#include "policy/json/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_members(struct buffer *members)
{
	struct buffer whole;

	buffer_init(&whole, 1u << 20);
	(void)buffer_append(&whole, "{", 1); /* there is room */
	(void)buffer_append(&whole, buffer_data(members), buffer_len(members));
	(void)buffer_append(&whole, "}", 1);
	AUTO_JSON struct json *doc =
		json_parse((const char *)buffer_data(&whole), buffer_len(&whole), NULL);
	if (!doc)
		abort();
	buffer_done(&whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* The report would contain a byte 0 as \u0000, which hutch's JSON reader
	 * refuses, although JSON permits it. */
	if (size == 0 || size > 4096 || memchr(data, 0, size))
		return 0;
	unsigned kinds = ACT_MICROAGENTS - ACT_GIT_CLONE + 1;
	const struct action a = { .kind = (enum action_kind)(ACT_GIT_CLONE +
							     *data % kinds) };
	const struct observed o = { .action = &a, .content = data + 1, .len = size - 1 };
	AUTO_FREE char *content = NULL;
	struct buffer members;

	buffer_init(&members, 1u << 19);
	if (observe_git(&o, &members, &content))
		check_members(&members);
	buffer_done(&members);
	return 0;
}
