#include "rootfs-tools/registry/registry.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "rootfs-tools/index/images.h"
#include "rootfs-tools/layers/blobs.h"
#include "rootfs-tools/registry/challenge.h"
#include "rootfs-tools/registry/credentials.h"
#include "rootfs-tools/registry/http.h"
#include "rootfs-tools/registry/mirrors.h"
#include "rootfs-tools/registry/token.h"
#include "store/reference.h"

#define HUB	    "docker.io"
#define HUB_HOST    "registry-1.docker.io"
#define TRIES_MAX   5	/* limit of tries in a row without a new byte */
#define ASKS_MAX    100 /* limit of requests for one document or blob */
#define PAUSE_MS    200 /* length of the first pause; each one is twice as long as the
			 * last */
#define PAUSE_MAX_S 60	/* the longest Retry-After that is waited for */

#define ACCEPT_MANIFESTS                                              \
	"application/vnd.oci.image.index.v1+json, "                   \
	"application/vnd.oci.image.manifest.v1+json, "                \
	"application/vnd.docker.distribution.manifest.list.v2+json, " \
	"application/vnd.docker.distribution.manifest.v2+json"

/* A server that has the repository: a mirror or the registry itself. */
struct endpoint {
	char *base;	     /* owned; the beginning of URLs,
			      * "https://HOST/v2/REPOSITORY" */
	const char *account; /* borrowed; the host under which the endpoint's
			      * credentials are kept */
	char host[HTTP_HOST_MAX];
	bool is_fallback; /* the same host without TLS; asked only if the endpoint before
			   * speaks no TLS */
	bool has_answered;
	char *authorization; /* owned, secret; the last Authorization header that was
			      * accepted */
};

struct registry {
	struct http *http; /* owned */
	struct http_rules rules;
	const struct reference *ref; /* borrowed */
	struct endpoint *endpoints;  /* owned */
	size_t count, at;
};

struct download {
	const struct descriptor *what;
	struct blob *to;
	void (*news)(void *context, uint64_t at);
	void *context;
	bool has_begun; /* the first bytes of the present answer have been checked */
	bool is_ours;	/* the failure is on this machine, so asking another server would
			 * not help */
	bool is_astray; /* the answer does not begin at the offset that was asked for */
};

/* A document or blob to be asked for. */
struct errand {
	char path[300];			/* path of the request, such as
					 * "manifests/3.12" */
	char name[REFERENCE_MAX + 100]; /* name of the document or blob in errors */
	const char *accept;
	size_t max;
	struct download *download; /* where the body is written; NULL: the body is kept in
				    * memory */
};

/* Counts the tries to get one document or blob. */
struct stamina {
	unsigned tries, asks;
	uint64_t at;
	bool is_fresh; /* the token has just been fetched, and no server has accepted it
		        * yet */
};

enum verdict { GOOD, AGAIN, FAILED, AWAY };

/* --- places ---------------------------------------------------------------- */

static void add_endpoint(struct registry *r, const char *scheme, const char *host,
			 const char *path, const char *account)
{
	struct endpoint *p;

	r->endpoints = mem_resize(r->endpoints, r->count + 1, sizeof(*r->endpoints));
	p = &r->endpoints[r->count++];
	*p = (struct endpoint){ .account = account };
	p->base = text_format("%s://%s/v2/%s%s", scheme, host, path, r->ref->repository);
	(void)snprintf(p->host, sizeof(p->host), "%s", host);
}

/* Adds a mirror to the endpoints.  The mirror's URL is "https://HOST/PATH";
 * mirrors_read() has checked the form. */
static void add_mirror(struct registry *r, const char *url)
{
	const char *host = strstr(url, "://") + 3;
	const size_t len = strcspn(host, "/");
	AUTO_FREE char *scheme = text_format("%.*s", (int)(host - 3 - url), url);
	AUTO_FREE char *name = text_format("%.*s", (int)len, host);
	AUTO_FREE char *path = host[len] ? text_format("%s/", host + len + 1) :
					   text_copy("");

	add_endpoint(r, scheme, name, path, NULL);
}

struct registry *registry_new(const struct mirrors *m, const struct reference *ref)
{
	struct registry *r = mem_zeroed(1, sizeof(*r));
	const bool is_hub = !strcmp(ref->registry, HUB);
	const char *host = is_hub ? HUB_HOST : ref->registry;

	r->ref = ref;
	r->rules = (struct http_rules){ &m->insecure, m->patience_s };
	r->http = http_new(&r->rules);
	for (size_t i = 0; i < m->of.count; i++)
		if (!strcmp(m->of.items[i], ref->registry))
			add_mirror(r, m->urls.items[i]);
	add_endpoint(r, "https", host, "", ref->registry);
	if (http_is_loopback(host) || http_is_insecure(&r->rules, host)) {
		add_endpoint(r, "http", host, "", ref->registry);
		r->endpoints[r->count - 1].is_fallback = true;
	}
	return r;
}

static void forget(char **secret)
{
	if (*secret)
		explicit_bzero(*secret, strlen(*secret));
	own_free(secret);
}

void registry_free(struct registry *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->count; i++) {
		own_free(&r->endpoints[i].base);
		forget(&r->endpoints[i].authorization);
	}
	http_free(r->http);
	free(r->endpoints);
	free(r);
}

/* Makes new connections in a forked process.  The old handle is not closed: that would
 * end the TLS sessions of the parent's connections. */
void registry_reconnect(struct registry *r)
{
	r->http = http_new(&r->rules);
}

const char *registry_host(const struct registry *r)
{
	return r->endpoints[r->at].host;
}

/* Chooses the endpoint after the present one; returns false if there are no more. */
static bool next_endpoint(struct registry *r, enum verdict verdict)
{
	size_t next = r->at + 1;

	while (next < r->count && r->endpoints[next].is_fallback && verdict != AWAY)
		next++;
	if (next >= r->count)
		return false;
	r->at = next;
	return true;
}

bool registry_next(struct registry *r)
{
	return next_endpoint(r, FAILED);
}

/* --- being let in ---------------------------------------------------------- */

static int pick_challenge(const struct http_answer *a, struct challenge *ret,
			  struct err *e)
{
	struct challenge one;

	*ret = (struct challenge){ 0 };
	for (size_t i = 0; i < a->challenges.count; i++) {
		if (challenge_read(a->challenges.items[i], &one, e) < 0)
			return -1;
		if (one.scheme > ret->scheme)
			*ret = one;
	}
	if (ret->scheme != CHALLENGE_NONE)
		return 0;
	return err_set(e, ERR_UNSUPPORTED,
		       "it asks for credentials, but for neither a token nor a password");
}

static enum verdict not_for_you(const struct endpoint *p, const struct errand *x,
				const struct credentials *login, struct err *e)
{
	if (login->from) {
		(void)err_set(e, ERR_REFUSED, "%s does not give %s to the user of %s",
			      p->host, x->name, login->from);
		(void)err_remedy(
			e,
			"look at the name, or log in as a user who may pull it: docker "
			"login %s",
			p->account ? p->account : p->host);
		return FAILED;
	}
	(void)err_set(e, ERR_REFUSED,
		      "%s does not have %s, or asks for a login", p->host,
		      x->name);
	(void)err_remedy(e,
			 "look at the name, or log in: docker login %s, or skopeo login",
			 p->account ? p->account : p->host);
	return FAILED;
}

static enum verdict answer_basic(struct endpoint *p, const struct errand *x,
				 const struct credentials *login, const struct stamina *s,
				 struct err *e)
{
	if (!login->password)
		return not_for_you(p, x, &(struct credentials){ 0 }, e);
	if (s->is_fresh) {
		(void)err_set(e, ERR_REFUSED, "%s refuses the user and password of %s",
			      p->host, login->from);
		(void)err_remedy(e, "docker login %s, with the right ones",
				 p->account ? p->account : p->host);
		return FAILED;
	}
	forget(&p->authorization);
	p->authorization = token_basic(login);
	return AGAIN;
}

static enum verdict answer_bearer(struct registry *r, const struct errand *x,
				  const struct challenge *c,
				  const struct credentials *login,
				  const struct stamina *s, struct err *e)
{
	struct endpoint *p = &r->endpoints[r->at];
	AUTO_FREE char *scope =
		text_format("repository:%s:pull", strstr(p->base, "/v2/") + 4);

	forget(&p->authorization);
	if (s->is_fresh)
		return not_for_you(p, x, login, e);
	enum token_result got = token_get(r->http, c, scope, login, &p->authorization, e);
	return got == TOKEN_GOT ? AGAIN : got == TOKEN_AGAIN ? AWAY : FAILED;
}

/* Fetches a token, or uses the user's password.  AWAY: the token server did not answer,
 * but may do so later. */
static enum verdict log_in(struct registry *r, const struct errand *x,
			   const struct http_answer *a, struct stamina *s, struct err *e)
{
	struct endpoint *p = &r->endpoints[r->at];
	struct credentials login;
	struct challenge c;

	if (pick_challenge(a, &c, e) < 0) {
		(void)err_in(e, "%s", p->host);
		return FAILED;
	}
	const char *account = p->account ? p->account : p->host;
	if (credentials_find(account, strstr(p->base, "/v2/") + 4, &login, e) < 0)
		return FAILED;
	enum verdict v = c.scheme == CHALLENGE_BASIC
				 ? answer_basic(p, x, &login, s, e)
				 : answer_bearer(r, x, &c, &login, s, e);
	credentials_done(&login);
	s->is_fresh = v == AGAIN;
	return v;
}

/* --- once more ------------------------------------------------------------- */

static void rest(int64_t ms)
{
	struct timespec left = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

/* Waits before the next try, after an error in `e` that may be temporary. */
static enum verdict pause_for(const struct errand *x, struct stamina *s, int64_t after_s,
			      struct err *e)
{
	const uint64_t at = x->download ? blob_at(x->download->to) : 0;

	if (at > s->at)
		s->tries = 0;
	s->at = at;
	if (++s->tries >= TRIES_MAX || ++s->asks >= ASKS_MAX || after_s > PAUSE_MAX_S) {
		(void)err_in(e, "%s", x->name);
		if (!e->remedy[0] && after_s > PAUSE_MAX_S)
			(void)err_remedy(e, "try again in %lld s; the bytes so far "
					    "are kept",
					 (long long)after_s);
		if (!e->remedy[0])
			(void)err_remedy(e, "try again; the bytes so far are kept");
		return FAILED;
	}
	rest(after_s > 0 ? after_s * 1000 : (int64_t)PAUSE_MS << (s->tries - 1));
	return AGAIN;
}

static enum verdict begin_anew(const struct errand *x, struct stamina *s, struct err *e)
{
	x->download->is_astray = false;
	s->at = 0;
	if (blob_restart(x->download->to, e) == 0)
		return ++s->tries < TRIES_MAX ? AGAIN : FAILED;
	x->download->is_ours = true;
	return FAILED;
}

static enum verdict judge_bytes(const struct registry *r, const struct errand *x,
				struct stamina *s, struct err *e)
{
	if (!x->download || blob_at(x->download->to) == x->download->what->size)
		return GOOD;
	(void)err_set(e, ERR_PROTOCOL, "%s gave %llu bytes of %llu", registry_host(r),
		      (unsigned long long)blob_at(x->download->to),
		      (unsigned long long)x->download->what->size);
	return pause_for(x, s, 0, e);
}

static enum verdict judge_status(struct registry *r, const struct errand *x,
				 const struct http_answer *a, struct stamina *s,
				 struct err *e)
{
	const char *host = registry_host(r);

	if (a->status == 429 || a->status == 408 || a->status >= 500) {
		(void)err_set(e, ERR_PROTOCOL,
			      a->status == 429 ?
				      "%s has had too many requests, it answers %d" :
				      "%s has a problem, it answers %d",
			      host, a->status);
		return pause_for(x, s, a->retry_after_s, e);
	}
	if (a->status == 416 && x->download && blob_at(x->download->to))
		return begin_anew(x, s, e);
	if (a->status == 403)
		return not_for_you(&r->endpoints[r->at], x, &(struct credentials){ 0 },
				   e);
	if (a->status == 404) {
		(void)err_set(e, ERR_NOT_FOUND, "%s does not have %s", host, x->name);
		(void)err_remedy(e, "look at the name and the tag");
		return FAILED;
	}
	(void)err_set(e, ERR_PROTOCOL, "%s: %s answers %d", x->name, host, a->status);
	return FAILED;
}

static enum verdict judge_answer(struct registry *r, const struct errand *x,
				 const struct http_answer *a, struct stamina *s,
				 struct err *e)
{
	r->endpoints[r->at].has_answered = true;
	if (a->status != 401)
		s->is_fresh = false;
	if (a->status == 200 || a->status == 206)
		return judge_bytes(r, x, s, e);
	if (a->status != 401)
		return judge_status(r, x, a, s, e);
	enum verdict v = log_in(r, x, a, s, e);
	return v == AWAY ? pause_for(x, s, 0, e) : v;
}

static enum verdict judge(struct registry *r, const struct errand *x,
			  enum http_result result, const struct http_answer *a,
			  struct stamina *s, struct err *e)
{
	if (result == HTTP_ANSWERED)
		return judge_answer(r, x, a, s, e);
	if (x->download && x->download->is_astray)
		return begin_anew(x, s, e);
	if (result == HTTP_BROKE ||
	    (result == HTTP_AWAY && r->endpoints[r->at].has_answered))
		return pause_for(x, s, 0, e);
	(void)err_in(e, "%s", x->name);
	return result == HTTP_AWAY ? AWAY : FAILED;
}

/* --- bytes ----------------------------------------------------------------- */

/* Checks with an answer's first bytes whether it continues at our offset. */
static int check_start(struct download *d, const struct http_answer *a, struct err *e)
{
	d->has_begun = true;
	if (a->status == 200 && blob_at(d->to) && blob_restart(d->to, e) < 0) {
		d->is_ours = true;
		return -1;
	}
	const uint64_t at = blob_at(d->to);
	if (a->status == 206 && a->from != at) {
		d->is_astray = true;
		return err_set(e, ERR_PROTOCOL,
			       "the answer does not begin at the offset that was asked "
			       "for");
	}
	if (a->length >= 0 && (uint64_t)a->length != d->what->size - at)
		return err_set(e, ERR_PROTOCOL, "%llu bytes were expected, and %lld are "
						"announced",
			       (unsigned long long)(d->what->size - at),
			       (long long)a->length);
	return 0;
}

static int take_bytes(void *context, const struct http_answer *a, const void *data,
		      size_t len, struct err *e)
{
	struct download *d = context;

	if (!d->has_begun && check_start(d, a, e) < 0)
		return -1;
	if (len > d->what->size - blob_at(d->to))
		return err_set(e, ERR_PROTOCOL,
			       "more bytes came than the %llu expected",
			       (unsigned long long)d->what->size);
	if (blob_add(d->to, data, len, e) < 0) {
		d->is_ours = true;
		return -1;
	}
	if (d->news)
		d->news(d->context, blob_at(d->to));
	return 0;
}

/* --- one thing, wherever it is --------------------------------------------- */

static enum http_result ask_once(struct registry *r, const struct errand *x,
				 struct http_answer *ret, struct err *e)
{
	const struct endpoint *p = &r->endpoints[r->at];
	AUTO_FREE char *url = text_format("%s/%s", p->base, x->path);
	struct http_request request = { .url = url,
					.accept = x->accept,
					.max = x->max,
					.authorization = p->authorization };

	if (x->download) {
		x->download->has_begun = false;
		request.take = take_bytes;
		request.context = x->download;
		request.from = blob_at(x->download->to);
	}
	return http_ask(r->http, &request, ret, e);
}

static enum verdict ask_endpoint(struct registry *r, const struct errand *x,
				 struct http_answer *ret, struct err *e)
{
	struct stamina s = { .at = x->download ? blob_at(x->download->to) : 0 };
	enum verdict v;

	do {
		http_answer_done(ret);
		enum http_result result = ask_once(r, x, ret, e);
		v = judge(r, x, result, ret, &s, e);
	} while (v == AGAIN);
	return v;
}

static int ask(struct registry *r, const struct errand *x, struct http_answer *ret,
	       struct err *e)
{
	enum verdict v;

	do
		v = ask_endpoint(r, x, ret, e);
	while (v != GOOD && !(x->download && x->download->is_ours) &&
	       next_endpoint(r, v));
	if (v == GOOD)
		return 0;
	http_answer_done(ret);
	return -1;
}

int registry_manifest(struct registry *r, const struct digest *d,
		      struct registry_text *ret, struct err *e)
{
	struct errand x = { .accept = ACCEPT_MANIFESTS, .max = MANIFEST_MAX };
	struct http_answer a = { 0 };
	char digest[DIGEST_TEXT];

	reference_print_short(r->ref, x.name);
	if (d)
		digest_print(d, digest);
	(void)snprintf(x.path, sizeof(x.path), "manifests/%s", d ? digest : r->ref->tag);
	if (ask(r, &x, &a, e) < 0)
		return -1;
	*ret = (struct registry_text){ .text = a.body ? a.body : text_copy(""),
				     .len = a.len };
	memcpy(ret->media_type, a.type, sizeof(a.type));
	memcpy(ret->digest, a.digest, sizeof(a.digest));
	a.body = NULL;
	http_answer_done(&a);
	return 0;
}

void registry_text_done(struct registry_text *t)
{
	own_free(&t->text);
	*t = (struct registry_text){ 0 };
}

int registry_blob(struct registry *r, const struct descriptor *d, struct blob *to,
		  void (*news)(void *context, uint64_t at), void *context, struct err *e)
{
	struct download download = {
		.what = d, .to = to, .news = news, .context = context
	};
	struct errand x = { .download = &download };
	struct http_answer a = { 0 };
	char digest[DIGEST_TEXT];

	digest_print(&d->digest, digest);
	(void)snprintf(x.path, sizeof(x.path), "blobs/%s", digest);
	(void)snprintf(x.name, sizeof(x.name), "blob %.19s...", digest);
	if (blob_at(to) > d->size && blob_restart(to, e) < 0)
		return -1;
	if (blob_at(to) == d->size)
		return 0;
	int rc = ask(r, &x, &a, e);
	http_answer_done(&a);
	return rc;
}
