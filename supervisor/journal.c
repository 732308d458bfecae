#include "supervisor/journal.h"

#include <stdlib.h>
#include <string.h>

#include "actions/veil.h"
#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "base/quote.h"
#include "sandbox/state/registry.h"
#include "sandbox/state/shelf.h"

/* Events about the sandbox itself have a higher level than events inside it. */
static const struct {
	const char *event;
	enum level level;
} levels[] = {
	{ "status", LEVEL_INFO },   { "update", LEVEL_INFO }, { "refused", LEVEL_INFO },
	{ "ended", LEVEL_INFO },    { "log", LEVEL_WARN },    { "unprotected", LEVEL_WARN },
	{ "error", LEVEL_ERROR },
};

void journal_init(struct journal *j, const struct registry_entry *entry,
		  const struct mask *mask, const int64_t *now_ms)
{
	*j = (struct journal){ .level = level_now(), .entry = entry, .mask = mask,
			       .now_ms = now_ms };
	log_init(&j->log, shelf_folder(entry->folder, SHELF_LOG, NULL), LEVEL_FILE,
		 JOURNAL_FILE_MAX);
}

void journal_done(struct journal *j)
{
	log_done(&j->log);
}

void journal_add(struct journal *j, enum level level, const char *component,
		 const char *message, const char *fields)
{
	const struct level_entry x = { .level = level, .sandbox = j->entry->name,
				       .component = component, .message = message,
				       .fields = fields };

	if (level > j->level)
		return;
	char *line = level_line(&x);
	veil_text(j->mask, &line);
	AUTO_FREE char *own = line;
	AUTO_FREE char *whole = text_format("%s\n", own);
	/* A full disk takes no line, and the failure can be reported nowhere
	 * else. */
	(void)log_add(&j->log, whole, strlen(whole), *j->now_ms, NULL);
}

void journal_add_err(struct journal *j, enum level level, const char *component,
		     const struct err *why)
{
	AUTO_FREE char *remedy = quote_json(why->remedy[0] ? why->remedy : NULL);
	AUTO_FREE char *fields = text_format("\"kind\":\"%s\",\"remedy\":%s",
					     err_kind_name(why->kind), remedy);

	journal_add(j, level, component, why->text, fields);
}

void journal_add_event(struct journal *j, const char *event, const char *members)
{
	enum level level = LEVEL_DEBUG;

	for (size_t i = 0; i < ARRAY_LEN(levels); i++)
		if (!strcmp(levels[i].event, event))
			level = levels[i].level;
	journal_add(j, level, "supervisor", event, members);
}
