/* consent -- asks the client's user whether a call may go on, by a form.
 *
 * A legacy client gets the request elicitation/create, and the call waits for its answer.
 * A modern one gets the question as the result of its call, and calls again with the
 * answer and with a token that the server has made.  A token stands for one question, is
 * good for ten minutes and once, and only for a call that asks the same. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct job;
struct json_at;
struct server;

#define CONSENT_TOKENS	  64
#define CONSENT_TOKEN_MAX 33
#define CONSENT_GOOD_MS	  600000

struct consent {
	struct {
		char token[CONSENT_TOKEN_MAX]; /* "": free */
		char *question;		       /* owned */
		int64_t until_ms;
	} tokens[CONSENT_TOKENS];
	unsigned next;	   /* the token that the next question takes the place of */
	unsigned question; /* the number of the last question to a legacy client */
};

void consent_done(struct consent *c);

/* Asks.  job_answered() is called when the user has answered; it may be called at once.
 * A client that cannot ask gets an error, which names `command`: the user's own way to do the
 * same.  No text of the model's may be in it, since users copy it into a shell. */
void consent_ask(struct job *j, const char *question, const char *command);

/* Takes the response of a legacy client to the question with this id. */
void consent_take(struct server *s, const char *id, const struct json_at *response);
