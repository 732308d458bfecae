#include "mcp/consent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/own.h"
#include "mcp/job.h"
#include "mcp/reply.h"
#include "mcp/server.h"
#include "policy/json/json.h"

/* The name of the question in a modern result, and of the box that its user ticks. */
#define ALLOW "allow"

/* The ids of requests to a legacy client. */
#define ID_FORMAT "\"hutch-%u\""

#define SCHEMA                                                                      \
	"{\"type\":\"object\",\"properties\":{\"" ALLOW "\":{\"type\":\"boolean\"," \
	"\"title\":\"Allow\",\"default\":false}},\"required\":[\"" ALLOW "\"]}"

void consent_done(struct consent *c)
{
	for (size_t i = 0; i < CONSENT_TOKENS; i++)
		free(c->tokens[i].question);
}

/* Whether the user has ticked the box: the value is the result of a form. */
static bool is_accepted(const struct json_at *result)
{
	struct json_at content, allow;
	bool is_allowed = false;

	return !strcmp(json_member_string(result, "action", ""), "accept") &&
	       json_member(result, "content", &content) &&
	       json_member(&content, ALLOW, &allow) &&
	       json_bool(&allow, &is_allowed, NULL) == 0 && is_allowed;
}

/* Returns the parameters of the request for the form, allocated. */
static char *form(const char *question)
{
	struct buffer b;

	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_bytes(&b, "message", question, strlen(question));
	json_write_raw(&b, "requestedSchema", SCHEMA);
	json_write_close(&b, "}");
	return json_write_end(&b);
}

/* --- legacy clients -------------------------------------------------------- */

static void ask_legacy(struct job *j, const char *question)
{
	AUTO_FREE char *params = form(question);

	j->question = ++j->server->consent.question;
	AUTO_FREE char *id = text_format(ID_FORMAT, j->question);
	server_send(j->server, NULL, reply_request(id, "elicitation/create", params));
}

void consent_take(struct server *s, const char *id, const struct json_at *response)
{
	struct json_at result;

	for (struct job *j = s->jobs; j; j = j->next) {
		AUTO_FREE char *mine = text_format(ID_FORMAT, j->question);
		if (!j->question || strcmp(mine, id) != 0)
			continue;
		/* A response without a result is an error of the client's. */
		job_answered(j, json_member(response, "result", &result) &&
					is_accepted(&result));
		return;
	}
}

/* --- modern clients -------------------------------------------------------- */

/* Takes the token of this question.  Returns false if there is none, or its time is
 * over. */
static bool take_token(struct server *s, const char *token, const char *question)
{
	bool is_good = false;

	for (size_t i = 0; i < CONSENT_TOKENS; i++) {
		if (!*token || strcmp(s->consent.tokens[i].token, token) != 0 ||
		    strcmp(s->consent.tokens[i].question, question) != 0)
			continue;
		is_good = s->now_ms < s->consent.tokens[i].until_ms;
		s->consent.tokens[i].token[0] = '\0';
	}
	return is_good;
}

/* Makes a token for the question.  It takes the place of the oldest one. */
static const char *make_token(struct server *s, const char *question)
{
	const unsigned at = s->consent.next++ % CONSENT_TOKENS;

	/* Without randomness the token is "", and no answer is taken for it. */
	if (hex_random(s->consent.tokens[at].token, CONSENT_TOKEN_MAX - 1, NULL) < 0)
		s->consent.tokens[at].token[0] = '\0';
	free(s->consent.tokens[at].question);
	s->consent.tokens[at].question = text_copy(question);
	s->consent.tokens[at].until_ms = s->now_ms + CONSENT_GOOD_MS;
	return s->consent.tokens[at].token;
}

static void ask_modern(struct job *j, const char *question)
{
	AUTO_FREE char *params = form(question);
	struct buffer b;

	json_write_begin(&b);
	json_write_open(&b, "inputRequests", "{");
	json_write_open(&b, ALLOW, "{");
	json_write_text(&b, "method", "elicitation/create");
	json_write_raw(&b, "params", params);
	json_write_close(&b, "}}");
	json_write_text(&b, "requestState", make_token(j->server, question));
	AUTO_FREE char *members = json_write_end(&b);
	server_send(j->server, j->batch,
		    reply_result(j->id, members, true, "input_required"));
	job_free(j);
}

/* Whether the call brings the user's answer to this question; *ret is the answer. */
static bool has_answer(const struct job *j, const char *question, bool *ret)
{
	const char *token = json_member_string(&j->params, "requestState", "");
	struct json_at responses, response;

	if (!json_member(&j->params, "inputResponses", &responses) ||
	    !json_member(&responses, ALLOW, &response) ||
	    !take_token(j->server, token, question))
		return false;
	*ret = is_accepted(&response);
	return true;
}

/* --- both ------------------------------------------------------------------ */

static void refuse(struct job *j, const char *command)
{
	AUTO_FREE char *text = text_format(
		"The user has to be asked, and this client cannot: it does not have the "
		"capability elicitation. The user can do it by `%s`.",
		command);

	if (!j->is_modern) {
		job_fail(j, text);
		return;
	}
	server_send(j->server, j->batch,
		    reply_error(j->id, MESSAGE_NO_CAPABILITY, text,
				"{\"requiredCapabilities\":{\"elicitation\":{}}}"));
	job_free(j);
}

void consent_ask(struct job *j, const char *question, const char *command)
{
	bool is_allowed;

	if (!j->can_ask)
		refuse(j, command);
	else if (!j->is_modern)
		ask_legacy(j, question);
	else if (has_answer(j, question, &is_allowed))
		job_answered(j, is_allowed);
	else
		ask_modern(j, question);
}
