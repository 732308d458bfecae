#include "rootfs-tools/registry/token.h"

#include <string.h>

#include "base/base64.h"
#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/json/json.h"
#include "rootfs-tools/registry/challenge.h"
#include "rootfs-tools/registry/credentials.h"
#include "rootfs-tools/registry/http.h"

static void forget(char **secret)
{
	if (*secret)
		explicit_bzero(*secret, strlen(*secret));
	own_free(secret);
}

#define AUTO_FORGET __attribute__((cleanup(forget)))

char *token_basic(const struct credentials *login)
{
	static const char word[] = "Basic ";
	AUTO_FORGET char *plain = text_format("%s:%s", login->user, login->password);
	const size_t len = strlen(plain);
	char *value = mem_zeroed(1, sizeof(word) + base64_length(len));

	memcpy(value, word, sizeof(word) - 1);
	(void)base64_encode(plain, len, (uint8_t *)value + sizeof(word) - 1);
	return value;
}

/* Checks a token, which becomes a part of a header, so it must be one line. */
static int check(const char *token, struct err *e)
{
	if (!*token || strlen(token) > TOKEN_MAX)
		return err_set(e, ERR_PROTOCOL, "the token has no or too many bytes");
	for (const char *c = token; *c; c++)
		if (*c <= ' ' || *c >= 0x7f)
			return err_set(e, ERR_PROTOCOL,
				       "the token has a character that no "
				       "token has");
	return 0;
}

int token_read(const char *text, size_t len, char **ret, struct err *e)
{
	AUTO_JSON struct json *doc = json_parse(text, len, e);
	struct json_at root, at;
	const char *token;

	if (!doc)
		return -1;
	json_root(doc, "answer", &root);
	if (!json_member(&root, "token", &at) && !json_member(&root, "access_token", &at))
		return err_set(e, ERR_PROTOCOL, "there is no token in the answer");
	if (json_string(&at, &token, e) < 0 || check(token, e) < 0)
		return -1;
	*ret = text_copy(token);
	return 0;
}

/* Returns the parameters of the request, escaped for a query or a form. */
static char *query(const struct challenge *c, const char *scope)
{
	AUTO_FREE char *service = http_escape(c->service);
	AUTO_FREE char *what = http_escape(*c->scope ? c->scope : scope);

	return text_format("%s%s%sscope=%s", *service ? "service=" : "", service,
			   *service ? "&" : "", what);
}

static char *form(const struct challenge *c, const char *scope,
		  const struct credentials *login)
{
	AUTO_FREE char *what = query(c, scope);
	AUTO_FORGET char *token = http_escape(login->token);

	return text_format("grant_type=refresh_token&client_id=hutch&%s&refresh_token=%s",
			   what, token);
}

static enum http_result ask(struct http *h, const struct challenge *c, const char *scope,
			    const struct credentials *login, struct http_answer *a,
			    struct err *e)
{
	AUTO_FREE char *what = query(c, scope);
	AUTO_FREE char *url =
		login->token ? text_copy(c->realm)
			     : text_format("%s%c%s", c->realm,
					   strchr(c->realm, '?') ? '&' : '?', what);
	AUTO_FORGET char *basic = login->password && !login->token ? token_basic(login)
								   : NULL;
	AUTO_FORGET char *posted = login->token ? form(c, scope, login) : NULL;
	const struct http_request r = { .url = url,
					.accept = "application/json",
					.authorization = basic,
					.form = posted,
					.max = TOKEN_ANSWER_MAX };

	return http_ask(h, &r, a, e);
}

static enum token_result refused(const struct http_answer *a, const char *host,
				 const struct credentials *login, struct err *e)
{
	if (a->status == 429 || a->status >= 500) {
		(void)err_set(e, ERR_PROTOCOL, "%s, the token server, answers %d",
			      host, a->status);
		return TOKEN_AGAIN;
	}
	if (login->from && (a->status == 401 || a->status == 403 || a->status == 400)) {
		(void)err_set(e, ERR_REFUSED, "%s refuses the user and password of %s",
			      host, login->from);
		(void)err_remedy(e, "docker login, or skopeo login, with the right ones");
		return TOKEN_FAILED;
	}
	(void)err_set(e, ERR_REFUSED, "%s gives no token, it answers %d", host,
		      a->status);
	(void)err_remedy(
		e, "docker login, or skopeo login, if the image is not public");
	return TOKEN_FAILED;
}

static enum token_result take(struct http_answer *a, const char *host,
			      const struct credentials *login, char **ret, struct err *e)
{
	AUTO_FORGET char *token = NULL;

	if (a->status != 200)
		return refused(a, host, login, e);
	int rc = token_read(a->body ? a->body : "", a->len, &token, e);
	if (a->body)
		explicit_bzero(a->body, a->len);
	if (rc < 0) {
		(void)err_in(e, "%s, the token server", host);
		return TOKEN_FAILED;
	}
	*ret = text_format("Bearer %s", token);
	return TOKEN_GOT;
}

enum token_result token_get(struct http *h, const struct challenge *c, const char *scope,
			    const struct credentials *login, char **ret, struct err *e)
{
	char host[HTTP_HOST_MAX];
	struct http_answer a;

	if (http_host(c->realm, host, e) < 0) {
		(void)err_in(e, "the address of the registry's token server");
		return TOKEN_FAILED;
	}
	enum http_result asked = ask(h, c, scope, login, &a, e);
	enum token_result result = asked == HTTP_ANSWERED ? take(&a, host, login, ret, e)
				   : asked == HTTP_BROKE  ? TOKEN_AGAIN
							  : TOKEN_FAILED;
	http_answer_done(&a);
	return result;
}
