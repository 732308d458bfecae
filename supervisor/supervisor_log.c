#include "supervisor/supervisor_log.h"

#include <stdlib.h>
#include <string.h>

#include "actions/redact_json.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/own.h"
#include "sandbox/state/registry.h"
#include "sandbox/state/state_dir.h"

/* The level of each event; events that are not listed here have a lower level, since
 * they are about processes inside. */
static const struct {
	const char *event;
	enum log_level level;
} levels[] = {
	{ "status", LOG_LEVEL_INFO },  { "update", LOG_LEVEL_INFO },
	{ "refused", LOG_LEVEL_INFO }, { "ended", LOG_LEVEL_INFO },
	{ "log", LOG_LEVEL_WARN },     { "unprotected", LOG_LEVEL_WARN },
	{ "error", LOG_LEVEL_ERROR },
};

void supervisor_log_init(struct supervisor_log *j, const struct registry_entry *entry,
		  const struct redact *secrets, const int64_t *now_ms)
{
	*j = (struct supervisor_log){ .level = log_level_now(),
				      .entry = entry,
				      .secrets = secrets,
				      .now_ms = now_ms };
	log_init(&j->log, state_dir_folder(entry->folder, STATE_DIR_LOG, NULL),
		 LOG_LEVEL_FILE, SUPERVISOR_LOG_FILE_MAX);
}

void supervisor_log_done(struct supervisor_log *j)
{
	log_done(&j->log);
}

void supervisor_log_add(struct supervisor_log *j, enum log_level level,
			const char *component, const char *message, const char *fields)
{
	const struct log_level_entry x = { .level = level, .sandbox = j->entry->name,
				       .component = component, .message = message,
				       .fields = fields };

	if (level > j->level)
		return;
	char *line = log_level_line(&x);
	redact_json_text(j->secrets, &line);
	AUTO_FREE char *own = line;
	AUTO_FREE char *whole = text_format("%s\n", own);
	/* A failure, such as a full disk, is ignored: there is no other place to report
	 * it. */
	(void)log_add(&j->log, whole, strlen(whole), *j->now_ms, NULL);
}

void supervisor_log_add_err(struct supervisor_log *j, enum log_level level,
			    const char *component, const struct err *why)
{
	AUTO_FREE char *remedy = json_write_quoted(why->remedy[0] ? why->remedy : NULL);
	AUTO_FREE char *fields = text_format("\"kind\":\"%s\",\"remedy\":%s",
					     err_kind_name(why->kind), remedy);

	supervisor_log_add(j, level, component, why->text, fields);
}

void supervisor_log_add_event(struct supervisor_log *j, const char *event,
			      const char *members)
{
	enum log_level level = LOG_LEVEL_DEBUG;

	for (size_t i = 0; i < ARRAY_LEN(levels); i++)
		if (!strcmp(levels[i].event, event))
			level = levels[i].level;
	supervisor_log_add(j, level, "supervisor", event, members);
}
