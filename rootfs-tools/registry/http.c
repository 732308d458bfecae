#include "rootfs-tools/registry/http.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "rootfs-tools/layers/shared_library.h"

#define REDIRECTS_MAX 5
#define STALL_BYTES   100L /* bytes a second; a slower connection is a stall */
#define READ_BYTES    (256L << 10)
#define CURL_TEXT     __attribute__((cleanup(curl_text_free)))

/* The functions of libcurl that are used: curl_easy_init() is curl.easy_init(). */
#define CALLS(X)                                                                       \
	X(easy_cleanup)                                                                \
	X(easy_escape) X(easy_getinfo) X(easy_init) X(easy_perform) X(easy_reset)      \
		X(easy_setopt) X(easy_strerror) X(free) X(global_init) X(slist_append) \
			X(slist_free_all) X(url) X(url_cleanup) X(url_get) X(url_set)  \
				X(version_info)

static struct {
#define MEMBER(name) __typeof__(curl_##name) *name;
	CALLS(MEMBER)
} curl;

struct http {
	CURL *easy; /* owned */
	const struct http_rules *rules;
};

/* A request in progress. */
struct exchange {
	CURL *easy; /* borrowed, like the other pointers here */
	const struct http_request *request;
	struct http_answer *answer;
	struct err *e;
	size_t header_bytes;
	bool has_failed; /* one of our callbacks has failed, and has set `e` */
};

static void curl_text_free(char **text)
{
	curl.free(*text);
}

int http_begin(struct err *e)
{
#define CALL(name) SHARED_LIBRARY_CALL(curl_##name, &curl.name),
	static const struct shared_library_call calls[] = { CALLS(CALL) };

	if (shared_library_load("libcurl.so.4", "libcurl4", calls, ARRAY_LEN(calls), e) <
	    0)
		return -1;
	if (curl.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK)
		return 0;
	return err_set(e, ERR_INTERNAL, "libcurl cannot be started");
}

struct http *http_new(const struct http_rules *rules)
{
	struct http *h = mem_zeroed(1, sizeof(*h));

	h->rules = rules;
	h->easy = curl.easy_init();
	if (!h->easy)
		abort(); /* out of memory */
	return h;
}

void http_free(struct http *h)
{
	if (!h)
		return;
	curl.easy_cleanup(h->easy);
	free(h);
}

void http_answer_done(struct http_answer *a)
{
	list_done(&a->challenges);
	free(a->body);
	*a = (struct http_answer){ 0 };
}

/* --- URLs ------------------------------------------------------------------ */

struct url {
	bool is_plain;
	char host[HTTP_HOST_MAX]; /* the host, with the port unless that is the
				   * scheme's default */
};

static char *part(CURLU *u, CURLUPart which, unsigned flags)
{
	char *text = NULL;

	return curl.url_get(u, which, &text, flags) == CURLUE_OK ? text : NULL;
}

static int take_parts(CURLU *u, struct url *ret, struct err *e)
{
	CURL_TEXT char *scheme = part(u, CURLUPART_SCHEME, 0);
	CURL_TEXT char *host = part(u, CURLUPART_HOST, 0);
	CURL_TEXT char *port = part(u, CURLUPART_PORT, CURLU_NO_DEFAULT_PORT);
	CURL_TEXT char *user = part(u, CURLUPART_USER, 0);
	CURL_TEXT char *password = part(u, CURLUPART_PASSWORD, 0);

	if (!scheme || (strcmp(scheme, "https") != 0 && strcmp(scheme, "http") != 0))
		return err_set(e, ERR_USAGE, "'%.20s' is neither https nor http",
			       scheme ? scheme : "");
	if (user || password)
		return err_set(e, ERR_USAGE, "a URL must have no user or password in it");
	ret->is_plain = !strcmp(scheme, "http");
	int len = snprintf(ret->host, sizeof(ret->host), "%s%s%s", host ? host : "",
			   port ? ":" : "", port ? port : "");
	if (!host || !*host || len >= (int)sizeof(ret->host))
		return err_set(e, ERR_USAGE,
			       "a URL must have a host, of at most %d bytes",
			       HTTP_HOST_MAX - 8);
	return 0;
}

static int url_read(const char *text, struct url *ret, struct err *e)
{
	CURLU *u = curl.url();
	int rc = -1;

	if (!u)
		abort(); /* out of memory */
	if (curl.url_set(u, CURLUPART_URL, text, 0) == CURLUE_OK)
		rc = take_parts(u, ret, e);
	else /* the URL is not printed, since it may hold secrets */
		(void)err_set(e, ERR_USAGE, "the text is no valid URL");
	curl.url_cleanup(u);
	return rc;
}

int http_host(const char *url, char ret[HTTP_HOST_MAX], struct err *e)
{
	struct url u;

	if (url_read(url, &u, e) < 0)
		return -1;
	memcpy(ret, u.host, sizeof(u.host));
	return 0;
}

/* Returns the length of the host in "HOST:PORT" or "[::1]:PORT". */
static size_t host_length(const char *host)
{
	const char *end = host[0] == '[' ? strchr(host, ']') : NULL;

	return end ? (size_t)(end + 1 - host) : strcspn(host, ":");
}

bool http_is_loopback(const char *host)
{
	char name[64];
	struct in_addr address;
	int len = snprintf(name, sizeof(name), "%.*s", (int)host_length(host), host);

	if (len >= (int)sizeof(name))
		return false;
	if (!strcasecmp(name, "localhost") || !strcmp(name, "[::1]"))
		return true;
	return inet_pton(AF_INET, name, &address) == 1 &&
	       ntohl(address.s_addr) >> 24 == 127;
}

bool http_is_insecure(const struct http_rules *rules, const char *host)
{
	for (size_t i = 0; rules->insecure && i < rules->insecure->count; i++) {
		const char *one = rules->insecure->items[i];
		if (!strcasecmp(one, host) || (strlen(one) == host_length(host) &&
					       !strncasecmp(one, host, strlen(one))))
			return true;
	}
	return false;
}

char *http_escape(const char *text)
{
	CURL_TEXT char *escaped = curl.easy_escape(NULL, text, 0);

	return text_copy(escaped ? escaped : "");
}

/* --- an answer ------------------------------------------------------------- */

static bool is_header(const char *line, size_t len, const char *name, const char **ret,
		      size_t *ret_len)
{
	size_t skip = strlen(name);

	if (len <= skip || line[skip] != ':' || strncasecmp(line, name, skip) != 0)
		return false;
	for (skip++; skip < len && strchr(" \t", line[skip]); skip++)
		;
	while (len > skip && strchr(" \t\r\n", line[len - 1]))
		len--;
	*ret = line + skip;
	*ret_len = len - skip;
	return true;
}

/* Keeps a header's value.  A value that does not fit is dropped: a cut one
 * would mean something else. */
static void keep(char *to, size_t room, const char *value, size_t len)
{
	if (len >= room || memchr(value, '\0', len))
		len = 0;
	memcpy(to, value, len);
	to[len] = '\0';
}

static void keep_range(struct http_answer *a, const char *value, size_t len)
{
	char text[64];
	char unit[8] = "";

	keep(text, sizeof(text), value, len);
	if (sscanf(text, "%7s %20lu-", unit, &a->from) != 2 || strcmp(unit, "bytes") != 0)
		a->from = UINT64_MAX; /* not a valid header: this offset fits no
				       * request */
}

static void take_header(struct http_answer *a, const char *line, size_t len)
{
	const char *value;
	size_t value_len;

	if (is_header(line, len, "content-type", &value, &value_len)) {
		const char *semicolon = memchr(value, ';', value_len);
		keep(a->type, sizeof(a->type), value,
		     semicolon ? (size_t)(semicolon - value) : value_len);
		a->type[strcspn(a->type, " \t")] = '\0';
	} else if (is_header(line, len, "docker-content-digest", &value, &value_len)) {
		keep(a->digest, sizeof(a->digest), value, value_len);
	} else if (is_header(line, len, "content-range", &value, &value_len)) {
		keep_range(a, value, value_len);
	} else if (is_header(line, len, "www-authenticate", &value, &value_len)) {
		if (!memchr(value, '\0', value_len))
			list_addf(&a->challenges, "%.*s", (int)value_len, value);
	}
}

static size_t on_header(char *line, size_t size, size_t count, void *context)
{
	struct exchange *x = context;
	const size_t len = size * count;

	x->header_bytes += len;
	if (x->header_bytes > HTTP_HEADERS_MAX) {
		x->has_failed = true;
		(void)err_set(x->e, ERR_LIMIT,
			      "the answer has more than %d bytes of headers",
			      HTTP_HEADERS_MAX);
		return 0;
	}
	/* A status line begins the headers of a new answer.  Answers of a proxy, and
	 * interim ones (1xx), come before the final one, and are dropped. */
	if (len > 5 && !strncasecmp(line, "HTTP/", 5))
		http_answer_done(x->answer);
	else
		take_header(x->answer, line, len);
	return len;
}

static bool is_good(const struct http_answer *a)
{
	return a->status >= 200 && a->status < 300;
}

/* Keeps the body.  If the answer is no success, only the start is kept, for the
 * error. */
static int keep_body(struct exchange *x, const char *data, size_t len)
{
	struct http_answer *a = x->answer;

	if (!is_good(a) && len > HTTP_ERROR_MAX - a->len)
		len = HTTP_ERROR_MAX - a->len;
	if (is_good(a) && len > x->request->max - a->len)
		return err_set(x->e, ERR_LIMIT, "the answer has more than %zu bytes",
			       x->request->max);
	char *body = realloc(a->body, a->len + len + 1);
	if (!body)
		abort(); /* out of memory */
	memcpy(body + a->len, data, len);
	a->body = body;
	a->len += len;
	body[a->len] = '\0';
	return 0;
}

static void take_figures(const struct exchange *x)
{
	struct http_answer *a = x->answer;
	curl_off_t length = -1, retry = 0;
	long status = 0;

	(void)curl.easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &status);
	(void)curl.easy_getinfo(x->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
	(void)curl.easy_getinfo(x->easy, CURLINFO_RETRY_AFTER, &retry);
	a->status = (int)status;
	a->length = length;
	a->retry_after_s = retry;
}

static size_t on_body(char *data, size_t size, size_t count, void *context)
{
	struct exchange *x = context;
	const struct http_request *r = x->request;
	const size_t len = size * count;

	take_figures(x);
	bool is_taken = r->take && (x->answer->status == 200 || x->answer->status == 206);
	int rc = is_taken ? r->take(r->context, x->answer, data, len, x->e)
			  : keep_body(x, data, len);
	x->has_failed = rc < 0;
	return rc < 0 ? 0 : len;
}

/* --- a request ------------------------------------------------------------- */

static const struct {
	CURLcode code;
	enum http_result result;
	enum err_kind kind;
	const char *says, *remedy; /* `says` becomes the error "HOST: SAYS" */
} failures[] = {
	{ CURLE_COULDNT_RESOLVE_HOST, HTTP_AWAY, ERR_NOT_FOUND, "there is no such host",
	  "look at its name, and whether this machine has a network" },
	{ CURLE_COULDNT_RESOLVE_PROXY, HTTP_FAILED, ERR_NOT_FOUND,
	  "the proxy's host was not found", "look at https_proxy and http_proxy" },
	{ CURLE_COULDNT_CONNECT, HTTP_AWAY, ERR_SYSTEM, "no server answers there",
	  "look at its name and port, and whether a proxy is needed (https_proxy)" },
	{ CURLE_SSL_CONNECT_ERROR, HTTP_AWAY, ERR_PROTOCOL, "the server speaks no TLS",
	  "if it is to be trusted without TLS, say so: --insecure HOST" },
	{ CURLE_PEER_FAILED_VERIFICATION, HTTP_FAILED, ERR_REFUSED,
	  "its certificate is not trusted",
	  "SSL_CERT_FILE names a file with the certificate that signed it" },
	{ CURLE_SSL_CACERT_BADFILE, HTTP_FAILED, ERR_NOT_FOUND,
	  "there are no trusted certificates to check the server's with",
	  "install ca-certificates, or look at SSL_CERT_FILE" },
	{ CURLE_OPERATION_TIMEDOUT, HTTP_BROKE, ERR_SYSTEM, "the transfer has stalled",
	  NULL },
	{ CURLE_PARTIAL_FILE, HTTP_BROKE, ERR_PROTOCOL,
	  "the connection ended before all was there", NULL },
	{ CURLE_GOT_NOTHING, HTTP_BROKE, ERR_PROTOCOL,
	  "the connection ended without an answer", NULL },
	/* libcurl follows no redirects here, so this error can only mean a version of
	 * HTTP that is not allowed, such as 0.9. */
	{ CURLE_UNSUPPORTED_PROTOCOL, HTTP_FAILED, ERR_PROTOCOL,
	  "the server sent a reply that is not valid HTTP", NULL },
	{ CURLE_WEIRD_SERVER_REPLY, HTTP_FAILED, ERR_PROTOCOL,
	  "the server sent a reply that is not valid HTTP", NULL },
	{ CURLE_OUT_OF_MEMORY, HTTP_FAILED, ERR_PROTOCOL,
	  "the server sent a header that is too long, or memory is out", NULL },
	{ CURLE_RECV_ERROR, HTTP_BROKE, ERR_PROTOCOL, "the connection broke off", NULL },
	{ CURLE_SEND_ERROR, HTTP_BROKE, ERR_PROTOCOL, "the connection broke off", NULL },
	{ CURLE_HTTP2, HTTP_BROKE, ERR_PROTOCOL, "the connection broke off", NULL },
	{ CURLE_HTTP2_STREAM, HTTP_BROKE, ERR_PROTOCOL, "the connection broke off",
	  NULL },
};

static enum http_result failed(const struct http *h, CURLcode code, const struct url *u,
			       struct err *e)
{
	curl_off_t connected = 0;

	(void)curl.easy_getinfo(h->easy, CURLINFO_CONNECT_TIME_T, &connected);
	if (code == CURLE_OPERATION_TIMEDOUT && !connected)
		code = CURLE_COULDNT_CONNECT;
	for (size_t i = 0; i < ARRAY_LEN(failures); i++) {
		if (failures[i].code != code)
			continue;
		(void)err_set(e, failures[i].kind, "%s: %s", u->host, failures[i].says);
		if (failures[i].remedy)
			(void)err_remedy(e, "%s", failures[i].remedy);
		return failures[i].result;
	}
	(void)err_set(e, ERR_PROTOCOL, "%s: %s", u->host, curl.easy_strerror(code));
	return HTTP_FAILED;
}

/* Returns the file of trusted certificates, or NULL where libcurl knows one.  The libcurl
 * in a static hutch-image knows none, since each distribution has another. */
static const char *find_certificates(void)
{
	static const char *const places[] = {
		"/etc/ssl/certs/ca-certificates.crt", /* Debian, Alpine, Arch */
		"/etc/pki/tls/certs/ca-bundle.crt",   /* Fedora, RHEL */
		"/etc/ssl/ca-bundle.pem",	      /* openSUSE */
	};
	const char *named = getenv("SSL_CERT_FILE");

	if (named && *named)
		return named;
	if (curl.version_info(CURLVERSION_NOW)->cainfo)
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		if (access(places[i], R_OK) == 0)
			return places[i];
	return places[0];
}

static void set_manners(const struct http *h, const struct url *u, struct exchange *x)
{
	const char *certificates = find_certificates();
	const long patience = (long)h->rules->patience_s;
	const long is_checked = !http_is_insecure(h->rules, u->host);

	curl.easy_reset(h->easy); /* open connections are kept */
	(void)curl.easy_setopt(h->easy, CURLOPT_NOSIGNAL, 1L);
	(void)curl.easy_setopt(h->easy, CURLOPT_USERAGENT, "hutch/" HUTCH_VERSION);
	(void)curl.easy_setopt(h->easy, CURLOPT_CONNECTTIMEOUT, patience);
	(void)curl.easy_setopt(h->easy, CURLOPT_LOW_SPEED_LIMIT, STALL_BYTES);
	(void)curl.easy_setopt(h->easy, CURLOPT_LOW_SPEED_TIME, patience);
	(void)curl.easy_setopt(h->easy, CURLOPT_BUFFERSIZE, READ_BYTES);
	(void)curl.easy_setopt(h->easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	(void)curl.easy_setopt(h->easy, CURLOPT_SSL_VERIFYPEER, is_checked);
	(void)curl.easy_setopt(h->easy, CURLOPT_SSL_VERIFYHOST, is_checked ? 2L : 0L);
	(void)curl.easy_setopt(h->easy, CURLOPT_SSLVERSION,
			       (long)CURL_SSLVERSION_TLSv1_2);
	if (certificates)
		(void)curl.easy_setopt(h->easy, CURLOPT_CAINFO, certificates);
	(void)curl.easy_setopt(h->easy, CURLOPT_HEADERFUNCTION, on_header);
	(void)curl.easy_setopt(h->easy, CURLOPT_HEADERDATA, x);
	(void)curl.easy_setopt(h->easy, CURLOPT_WRITEFUNCTION, on_body);
	(void)curl.easy_setopt(h->easy, CURLOPT_WRITEDATA, x);
}

static void add_header(struct curl_slist **list, const char *name, const char *value)
{
	AUTO_FREE char *line = value ? text_format("%s: %s", name, value) : NULL;
	struct curl_slist *longer = line ? curl.slist_append(*list, line) : *list;

	if (line && !longer)
		abort(); /* out of memory */
	*list = longer;
}

/* Asks one URL, without following redirects. */
static enum http_result ask_one(struct http *h, const char *url, const struct url *u,
				struct exchange *x)
{
	const struct http_request *r = x->request;
	struct curl_slist *headers = NULL;
	char range[32];

	set_manners(h, u, x);
	(void)curl.easy_setopt(h->easy, CURLOPT_URL, url);
	add_header(&headers, "Accept", r->accept);
	add_header(&headers, "Authorization", r->authorization);
	(void)curl.easy_setopt(h->easy, CURLOPT_HTTPHEADER, headers);
	if (r->form)
		(void)curl.easy_setopt(h->easy, CURLOPT_POSTFIELDS, r->form);
	/* Not CURLOPT_RESUME_FROM: with it an answer with the whole content is
	 * an error. */
	(void)snprintf(range, sizeof(range), "%llu-", (unsigned long long)r->from);
	if (r->from)
		(void)curl.easy_setopt(h->easy, CURLOPT_RANGE, range);
	CURLcode code = curl.easy_perform(h->easy);
	take_figures(x);
	(void)curl.easy_setopt(h->easy, CURLOPT_HTTPHEADER, NULL);
	curl.slist_free_all(headers);
	if (x->has_failed) {
		(void)err_in(x->e, "%s", u->host);
		return HTTP_FAILED;
	}
	return code == CURLE_OK ? HTTP_ANSWERED : failed(h, code, u, x->e);
}

static bool is_redirect(int status)
{
	return status == 301 || status == 302 || status == 303 || status == 307 ||
	       status == 308;
}

static int check_place(const struct http *h, const struct url *u,
		       const struct url *before, struct err *e)
{
	if (!u->is_plain)
		return 0;
	if (before && !before->is_plain)
		return err_set(e, ERR_REFUSED, "%s leads on to %s, without TLS",
			       before->host, u->host);
	if (http_is_loopback(u->host) || http_is_insecure(h->rules, u->host))
		return 0;
	(void)err_set(e, ERR_REFUSED, "%s is not asked without TLS", u->host);
	return err_remedy(e, "if it is to be trusted without TLS, say so: --insecure %s",
			  u->host);
}

/* Returns the URL that a redirect leads to, allocated, or NULL. */
static char *next_place(struct http *h, const struct http_answer *a)
{
	char *to = NULL;

	if (is_redirect(a->status))
		(void)curl.easy_getinfo(h->easy, CURLINFO_REDIRECT_URL, &to);
	return to ? text_copy(to) : NULL;
}

static bool is_same_origin(const struct url *a, const struct url *b)
{
	return a->is_plain == b->is_plain && !strcasecmp(a->host, b->host);
}

enum http_result http_ask(struct http *h, const struct http_request *r,
			  struct http_answer *ret, struct err *e)
{
	struct http_request request = *r;
	AUTO_FREE char *url = text_copy(r->url);
	struct url here, before;

	*ret = (struct http_answer){ 0 };
	if (url_read(url, &here, e) < 0 || check_place(h, &here, NULL, e) < 0)
		return HTTP_FAILED;
	for (unsigned i = 0; i <= REDIRECTS_MAX; i++) {
		http_answer_done(ret);
		struct exchange x = {
			.easy = h->easy, .request = &request, .answer = ret, .e = e
		};
		enum http_result result = ask_one(h, url, &here, &x);
		char *next = result == HTTP_ANSWERED ? next_place(h, ret) : NULL;
		if (!next)
			return result;
		own_free(&url);
		url = next;
		before = here;
		if (url_read(url, &here, e) < 0 ||
		    check_place(h, &here, &before, e) < 0) {
			(void)err_in(e, "%s", before.host);
			return HTTP_FAILED;
		}
		if (!is_same_origin(&here, &before))
			request.authorization = NULL;
		request.form = NULL;
	}
	(void)err_set(e, ERR_PROTOCOL, "%s: more than %d redirects", here.host,
		      REDIRECTS_MAX);
	return HTTP_FAILED;
}
