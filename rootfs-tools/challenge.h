/* challenge -- what a WWW-Authenticate header asks for (RFC 9110, section 11; the
 * distribution specification's "token authentication"). */
#pragma once

struct err;

enum challenge_scheme { CHALLENGE_NONE, CHALLENGE_BASIC, CHALLENGE_BEARER };

struct challenge {
	enum challenge_scheme scheme;
	char realm[1024], service[256], scope[512]; /* "": not said */
};

/* Reads one header's value, which may hold several challenges: of those that we know the
 * last one counts, and Bearer more than Basic.  None that we know: CHALLENGE_NONE.
 * ERR_PROTOCOL: it is against the grammar, has a control character, or is too long. */
int challenge_read(const char *header, struct challenge *ret, struct err *e);
