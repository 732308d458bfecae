#include "gateway/relay/mcp_merge.h"

#include <stdbool.h>
#include <string.h>

#include "base/json_write.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "gateway/relay/mcp_message.h"

/* The names of capabilities, whose bits are those of their places here. */
static const char *const capabilities[] = { "tools", "prompts", "resources", "logging",
					    "completions" };

struct mcp_merging {
	const char *method;
	const char *list;   /* the result's member that is a list; NULL: there is none */
	const char *member; /* the member of an item that gets a prefix */
	bool is_uri;
	bool is_initialize;
};

static const struct mcp_merging merging[] = {
	{ .method = "initialize", .is_initialize = true },
	{ .method = "logging/setLevel" },
	{ .method = "prompts/list", .list = "prompts", .member = "name" },
	{ .method = "resources/list",
	  .list = "resources",
	  .member = "uri",
	  .is_uri = true },
	{ .method = "resources/templates/list",
	  .list = "resourceTemplates",
	  .member = "uriTemplate",
	  .is_uri = true },
	{ .method = "tools/list", .list = "tools", .member = "name" },
};

const struct mcp_merging *mcp_merging_of(const char *method)
{
	for (size_t i = 0; i < ARRAY_LEN(merging); i++)
		if (!strcmp(merging[i].method, method))
			return &merging[i];
	return NULL;
}

void mcp_merge_init(struct mcp_merge *m, const struct mcp_merging *how, size_t count,
		    size_t max)
{
	*m = (struct mcp_merge){ .how = how, .count = count, .max = max };
	m->lists = mem_zeroed(count, sizeof(*m->lists));
	for (size_t i = 0; i < count; i++)
		buffer_init(&m->lists[i], max);
}

void mcp_merge_done(struct mcp_merge *m)
{
	for (size_t i = 0; i < m->count; i++)
		buffer_done(&m->lists[i]);
	own_free(&m->lists);
}

const char *mcp_merge_method(const struct mcp_merge *m)
{
	return m->how->method;
}

/* --- adding ------------------------------------------------------------------ */

static void add_item(struct mcp_merge *m, const struct mcp_names *names, size_t server,
		     const struct json_at *item)
{
	const char *name = json_member_string(item, m->how->member, NULL);

	if (!name)
		return;
	AUTO_FREE char *outer = m->how->is_uri ? mcp_names_uri_out(names, server, name)
					       : mcp_names_out(names, server, name);
	AUTO_FREE char *quoted = json_write_quoted(outer);
	const struct mcp_swap swaps[] = { { m->how->member, quoted }, { 0 } };
	AUTO_FREE char *text = mcp_object(item, swaps);
	m->bytes += strlen(text) + strlen(",");
	if (m->bytes <= m->max)
		json_write_raw(&m->lists[server], NULL, text);
}

static char *add_list(struct mcp_merge *m, const struct mcp_names *names, size_t server,
		      const struct json_at *result)
{
	struct json_at list, item = { 0 }, cursor;

	if (json_member(result, m->how->list, &list) && json_type(&list) == JSON_ARRAY)
		while (json_step(&list, &item))
			add_item(m, names, server, &item);
	if (!json_member(result, "nextCursor", &cursor) ||
	    json_type(&cursor) != JSON_STRING)
		return NULL;
	AUTO_FREE char *text = mcp_source(&cursor);
	return text_format("{\"cursor\":%s}", text);
}

/* A version is a date, so the order of texts is that of time. */
static void add_initialize(struct mcp_merge *m, const struct json_at *result)
{
	const char *version = json_member_string(result, "protocolVersion", "");
	struct json_at theirs, one;

	if (strlen(version) < sizeof(m->version) &&
	    (!*m->version || strcmp(version, m->version) < 0))
		(void)strcpy(m->version, version);
	if (!json_member(result, "capabilities", &theirs))
		return;
	for (size_t i = 0; i < ARRAY_LEN(capabilities); i++)
		if (json_member(&theirs, capabilities[i], &one))
			m->capabilities |= 1u << i;
}

char *mcp_merge_add(struct mcp_merge *m, const struct mcp_names *names, size_t server,
		    const struct json_at *result)
{
	m->answers++;
	if (m->how->is_initialize)
		add_initialize(m, result);
	return m->how->list ? add_list(m, names, server, result) : NULL;
}

/* --- the answer -------------------------------------------------------------- */

static char *initialize_answer(const struct mcp_merge *m, const char *id)
{
	struct buffer b;

	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_text(&b, "protocolVersion", m->version);
	json_write_open(&b, "capabilities", "{");
	for (size_t i = 0; i < ARRAY_LEN(capabilities); i++)
		if (m->capabilities & 1u << i)
			json_write_raw(&b, capabilities[i], "{}");
	json_write_close(&b, "}");
	json_write_open(&b, "serverInfo", "{");
	json_write_text(&b, "name", "hutch");
	json_write_text(&b, "version", HUTCH_VERSION);
	json_write_close(&b, "}}");
	AUTO_FREE char *result = json_write_end(&b);
	return mcp_result(id, result);
}

static char *list_answer(const struct mcp_merge *m, const char *id)
{
	struct buffer b;

	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_open(&b, m->how->list, "[");
	for (size_t i = 0; i < m->count; i++) {
		AUTO_FREE char *items =
			text_format("%.*s", (int)buffer_len(&m->lists[i]),
				    (const char *)buffer_data(&m->lists[i]));
		if (*items)
			json_write_raw(&b, NULL, items);
	}
	json_write_close(&b, "]}");
	AUTO_FREE char *result = json_write_end(&b);
	return mcp_result(id, result);
}

char *mcp_merge_answer(const struct mcp_merge *m, const char *id)
{
	if (m->how->is_initialize && m->answers == 0)
		return mcp_error(id, MCP_FAILED, "no MCP server has answered");
	if (m->how->is_initialize)
		return initialize_answer(m, id);
	if (!m->how->list)
		return mcp_result(id, "{}");
	if (m->bytes > m->max)
		return mcp_error(id, MCP_FAILED,
				 "the list of all MCP servers is too long");
	return list_answer(m, id);
}
