#include "rootfs-tools/registry/challenge.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/own.h"

#define SPACES " \t"
#define NAME \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~"
#define NAME_MAX_LEN 64

struct reader {
	const char *at;
	struct challenge now;  /* the challenge whose parameters are being read */
	struct challenge best; /* the best of the challenges before `now` */
};

static int malformed(struct err *e, const char *what)
{
	return err_set(e, ERR_PROTOCOL, "the WWW-Authenticate header %s", what);
}

static void settle(struct reader *r)
{
	if (r->now.scheme >= r->best.scheme)
		r->best = r->now;
	r->now = (struct challenge){ 0 };
}

static void begin(struct reader *r, const char *name, size_t len)
{
	settle(r);
	if (len == 5 && !strncasecmp(name, "basic", len))
		r->now.scheme = CHALLENGE_BASIC;
	else if (len == 6 && !strncasecmp(name, "bearer", len))
		r->now.scheme = CHALLENGE_BEARER;
}

/* Reads one character of a parameter's value; returns false at the value's end. */
static bool take_character(struct reader *r, bool is_quoted, char *ret)
{
	if (!*r->at || (is_quoted ? *r->at == '"' : strchr(SPACES ",", *r->at) != NULL))
		return false;
	if (is_quoted && *r->at == '\\' && r->at[1])
		r->at++;
	*ret = *r->at++;
	return true;
}

/* Copies a quoted string or a plain word into `to`; if `to` is NULL the value
 * is skipped. */
static int read_value(struct reader *r, char *to, size_t room, struct err *e)
{
	const bool is_quoted = *r->at == '"';
	size_t len = 0;
	char c;

	r->at += is_quoted;
	while (take_character(r, is_quoted, &c)) {
		if ((unsigned char)c < ' ' || c == 0x7f)
			return malformed(e, "has a control character in it");
		if (to && len + 1 >= room)
			return malformed(e, "has a value that is too long");
		if (to)
			to[len++] = c;
	}
	if (is_quoted && *r->at++ != '"')
		return malformed(e, "has a quote that does not end");
	if (to)
		to[len] = '\0';
	return 0;
}

static int read_parameter(struct reader *r, const char *name, size_t len, struct err *e)
{
	const struct {
		const char *name;
		char *to;
		size_t room;
	} known[] = {
		{ "realm", r->now.realm, sizeof(r->now.realm) },
		{ "service", r->now.service, sizeof(r->now.service) },
		{ "scope", r->now.scope, sizeof(r->now.scope) },
	};

	for (size_t i = 0; r->now.scheme && i < ARRAY_LEN(known); i++) {
		if (strlen(known[i].name) != len ||
		    strncasecmp(known[i].name, name, len) != 0)
			continue;
		if (*known[i].to)
			return malformed(e, "has a parameter twice");
		return read_value(r, known[i].to, known[i].room, e);
	}
	return read_value(r, NULL, 0, e);
}

/* Reads one word: a parameter's name if '=' follows, else a scheme. */
static int read_one(struct reader *r, struct err *e)
{
	const char *name = r->at;
	const size_t len = strspn(name, NAME);

	if (!len || len > NAME_MAX_LEN)
		return malformed(e, "is not valid");
	r->at += len;
	const char *behind = r->at + strspn(r->at, SPACES);
	if (*behind != '=') {
		begin(r, name, len);
		return 0;
	}
	r->at = behind + 1;
	r->at += strspn(r->at, SPACES);
	return read_parameter(r, name, len, e);
}

int challenge_read(const char *header, struct challenge *ret, struct err *e)
{
	struct reader r = { .at = header };

	for (;;) {
		r.at += strspn(r.at, SPACES ",");
		if (!*r.at)
			break;
		if (read_one(&r, e) < 0)
			return -1;
	}
	settle(&r);
	*ret = r.best;
	return 0;
}
