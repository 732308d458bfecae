/* challenge -- parses the WWW-Authenticate header (RFC 9110, section 11; the
 * distribution specification's "token authentication"). */
#pragma once

struct err;

enum challenge_scheme { CHALLENGE_NONE, CHALLENGE_BASIC, CHALLENGE_BEARER };

struct challenge {
	enum challenge_scheme scheme;
	char realm[1024], service[256], scope[512]; /* "": the challenge does not say */
};

/* Reads the value of one header, which may hold several challenges.  Bearer is
 * preferred to Basic, and of two challenges of one scheme the later one counts; other
 * schemes are skipped.  Without a known scheme, *ret is CHALLENGE_NONE.  ERR_PROTOCOL:
 * the value breaks the grammar, has a control character, or is too long. */
int challenge_read(const char *header, struct challenge *ret, struct err *e);
