/* token -- fetches the bearer token that a registry demands (distribution
 * specification, "token authentication": RFC 6750) from the server that the
 * registry names. */
#pragma once
#include <stddef.h>

struct challenge;
struct credentials;
struct err;
struct http;

#define TOKEN_MAX	 65536 /* limit of a token's bytes */
#define TOKEN_ANSWER_MAX (TOKEN_MAX + 65536)

enum token_result {
	TOKEN_FAILED = -1, /* the request failed; `e` says why */
	TOKEN_GOT,
	TOKEN_AGAIN /* the server did not answer now; `e` says how */
};

/* Fetches a token.  `ret` (allocated, secret) is the value of the Authorization header
 * that answers the challenge `c`.  `scope` is used if the challenge has none.  Without
 * credentials (the zero object) the request is anonymous. */
enum token_result token_get(struct http *h, const struct challenge *c, const char *scope,
			    const struct credentials *login, char **ret, struct err *e);

/* Returns the header's value for Basic authentication; allocated, secret. */
char *token_basic(const struct credentials *login);

/* Gives the token in the server's answer, allocated. */
int token_read(const char *text, size_t len, char **ret, struct err *e);
