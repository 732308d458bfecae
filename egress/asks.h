/* asks -- the questions to the user that `ask` rules bring, and the answers that are good
 * for the sandbox's whole life.
 *
 * All connections to one name and port wait for one question.  A question without an
 * answer in time is denied, and so is one for which there is no room: ASKS_PENDING_MAX
 * questions wait at a time.  The table holds ASKS_MAX entries; when it is full of answers
 * for the sandbox, later ones are good once.
 *
 * No function calls back: asks_has_news() says that questions were decided. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ASKS_PENDING_MAX 64
#define ASKS_MAX	 512
#define ASKS_GOAL_MAX	 254 /* a name or an address, and its NUL */

enum ask_state { ASK_FREE, ASK_PENDING, ASK_ALLOWED, ASK_DENIED };

struct ask {
	enum ask_state state;
	bool is_for_sandbox; /* the answer stays */
	uint32_t id;
	uint16_t port;
	char goal[ASKS_GOAL_MAX];
	int64_t due; /* while it is pending */
};

struct asks {
	struct ask *items[ASKS_MAX]; /* owned; NULL: none there yet */
	size_t pending;
	uint32_t last_id;
	int64_t wait_ms; /* how long a question waits for its answer */
	bool has_news;
};

/* Returns the question about a goal and port, or the answer to it.  *ret_is_new: the
 * question is to be sent.  NULL: there is no room. */
struct ask *asks_get(struct asks *a, const char *goal, uint16_t port, int64_t now,
		     bool *ret_is_new);

/* Takes an answer.  Returns false if no such question is pending. */
bool asks_answer(struct asks *a, uint32_t id, bool is_allowed, bool is_for_sandbox);

/* Denies a question that could not be sent. */
void asks_drop(struct asks *a, struct ask *ask);

/* Denies what has waited too long; asks_due() returns when the next one has, 0: never. */
void asks_tick(struct asks *a, int64_t now);
int64_t asks_due(const struct asks *a);

/* Returns whether questions were decided since the last call.  When all who waited have
 * looked, asks_forget() frees the answers that are good once. */
bool asks_has_news(struct asks *a);
void asks_forget(struct asks *a);

void asks_done(struct asks *a);
