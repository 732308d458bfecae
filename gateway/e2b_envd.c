/* Requests to one sandbox: which one it is, whether they may pass, and where they go. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/base64.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/own.h"
#include "gateway/e2b.h"
#include "gateway/keys.h"
#include "gateway/routes.h"

#define ID_MAX	      64
#define SIGNATURE_MAX 64
#define USER_MAX      256

/* --- which sandbox -------------------------------------------------------------- */

/* The id in a Host such as 49983-ID.example.com; its length, or 0. */
static size_t id_in_host(const char *host, const char **ret)
{
	const size_t digits = host ? strspn(host, "0123456789") : 0;

	if (digits == 0 || digits > 5 || host[digits] != '-')
		return 0;
	*ret = host + digits + 1;
	return strcspn(*ret, ".:");
}

static size_t named_id(const struct visit *v, const char **ret)
{
	*ret = http_header(v->request, "E2b-Sandbox-Id");
	return *ret ? strlen(*ret) : id_in_host(http_header(v->request, "Host"), ret);
}

/* --- signatures of files -------------------------------------------------------- */

struct signed_url {
	const char *path, *operation, *user, *expiration, *signature;
};

static bool read_signed(const struct visit *v, struct signed_url *ret)
{
	const char *method = http_method(v->request);

	*ret = (struct signed_url){
		.path = http_query(v->request, "path"),
		.operation = strcmp(method, "POST") == 0 ? "write" : "read",
		.user = http_query(v->request, "username"),
		.expiration = http_query(v->request, "signature_expiration"),
		.signature = http_query(v->request, "signature"),
	};
	/* An upload may be signed without a path, which is then the name of the file. */
	if (!ret->path)
		ret->path = "";
	return !strcmp(http_path(v->request), "/files") && ret->signature;
}

static bool is_over(const struct signed_url *u)
{
	char *end;

	if (!u->expiration)
		return false;
	const long long at = strtoll(u->expiration, &end, 10);
	return *end || at < (long long)time(NULL);
}

/* "v1_" and the base64, without padding, of a SHA-256 of what is signed and of the key. */
static bool is_signed_for(const struct signed_url *u, const struct box *b)
{
	unsigned char digest[KEYS_DIGEST];
	char key[KEYS_BOX], want[3 + SIGNATURE_MAX] = "v1_";

	box_key(b, key);
	AUTO_FREE char *text = text_format(
		"%s:%s:%s:%s%s%s", u->path, u->operation, u->user ? u->user : "", key,
		u->expiration ? ":" : "", u->expiration ? u->expiration : "");
	keys_digest(text, strlen(text), digest);
	size_t size = base64_encode(digest, sizeof(digest), (uint8_t *)want + 3);
	while (size > 0 && want[3 + size - 1] == '=')
		size--;
	want[3 + size] = '\0';
	return keys_equal(u->signature, want);
}

/* The URL of a file names no sandbox where the SDK was told of one address for all. */
static struct box *find_signed(struct visit *v)
{
	struct signed_url u;

	if (!read_signed(v, &u) || is_over(&u))
		return NULL;
	for (struct box *b = v->gateway->boxes.first; b; b = b->next)
		if (b->kind == BOX_PLAIN && is_signed_for(&u, b))
			return b;
	return NULL;
}

static bool claims(struct visit *v)
{
	const char *id;
	const size_t len = named_id(v, &id);
	struct signed_url u;

	if (len > 0) {
		v->box = len < ID_MAX ? box_by_id(&v->gateway->boxes, id, len) : NULL;
		return true;
	}
	if (!read_signed(v, &u))
		return false;
	v->box = find_signed(v);
	return true;
}

/* --- whether it may pass -------------------------------------------------------- */

static bool has_key(const struct visit *v, const char *key)
{
	return keys_equal(http_header(v->request, "X-Access-Token"), key) ||
	       keys_equal(http_header(v->request, "E2B-Traffic-Access-Token"), key);
}

/* A sandbox that has ended has a key all the same: its client must learn that it has ended. */
static bool may_pass(const struct visit *v)
{
	struct signed_url u;
	char key[KEYS_BOX], id[ID_MAX];
	const char *named;
	const size_t len = named_id(v, &named);

	if (v->box) {
		box_key(v->box, key);
		return has_key(v, key) ||
		       (read_signed(v, &u) && !is_over(&u) && is_signed_for(&u, v->box));
	}
	if (len == 0 || len >= sizeof(id))
		return false;
	memcpy(id, named, len);
	id[len] = '\0';
	keys_of_box(v->gateway->serve->key, id, 0, key);
	return has_key(v, key);
}

/* --- answers -------------------------------------------------------------------- */

void e2b_fail(struct visit *v, unsigned status, const char *message)
{
	struct buffer json;

	/* A wrong key has this status in E2B. */
	if (status == 403)
		status = 401;
	json_write_begin(&json);
	json_write_open(&json, NULL, "{");
	json_write_number(&json, "code", status);
	json_write_text(&json, "message", message);
	json_write_close(&json, "}");
	AUTO_FREE char *text = json_write_end(&json);
	http_reply_json(v->request, status, text);
}

void e2b_fail_box(struct visit *v, const struct hutch_error *why)
{
	switch (why->kind) {
	case HUTCH_DISCONNECTED:
		e2b_fail(v, 502, "The sandbox was not found");
		return;
	case HUTCH_NOT_FOUND:
		e2b_fail(v, 404, why->message);
		return;
	case HUTCH_INVALID:
	case HUTCH_REFUSED:
	case HUTCH_EXISTS:
		e2b_fail(v, 400, why->message);
		return;
	case HUTCH_NO_SPACE:
		e2b_fail(v, 507, why->message);
		return;
	default:
		e2b_fail(v, 500, why->message);
	}
}

static bool is_there(const struct visit *v)
{
	const struct e2b *x = v->box ? e2b_of(v->box) : NULL;

	if (!v->box || !e2b_is_there(v->box))
		return false;
	return !x || !x->is_paused || x->resumes;
}

void envd_use(struct visit *v, box_ready *ready)
{
	if (is_there(v)) {
		struct e2b *x = e2b_of(v->box);
		if (x)
			x->is_paused = false;
		box_use(v->box, v, ready);
		return;
	}
	e2b_fail(v, 502, "The sandbox was not found");
}

static void health(struct visit *v)
{
	if (is_there(v))
		http_reply(v->request, 204, "text/plain", "", 0);
	else
		e2b_fail(v, 502, "The sandbox was not found");
}

/* The SDKs name the user as that of Basic authentication, without a password.  `user` is the
 * own one of each sandbox of E2B, whatever it is called here. */
char *envd_user(const struct visit *v)
{
	const char *value = http_header(v->request, "Authorization");
	char user[USER_MAX];
	size_t len;

	if (!value || strncmp(value, "Basic ", 6) != 0 ||
	    strlen(value + 6) > sizeof(user) / 4 * 4 ||
	    !base64_decode(value + 6, strlen(value + 6), (uint8_t *)user, &len))
		return NULL;
	const char *colon = memchr(user, ':', len);
	const size_t size = colon ? (size_t)(colon - user) : 0;
	if (size == 0 || (size == 4 && !memcmp(user, "user", 4)))
		return NULL;
	return strndup(user, size);
}

bool envd_act(struct box *b, struct buffer *json, void *context, box_answer *done,
	      struct hutch_error *e)
{
	AUTO_FREE char *action = json_write_end(json);
	void *tag = box_tag(b, context, done);

	if (hutch_act(b->handle, action, 0, tag, e) >= 0)
		return true;
	box_untag(tag);
	return false;
}

/* --- the table ------------------------------------------------------------------ */

#define RPC(name, function, max, ...)                                       \
	{                                                                   \
		.method = "POST", .path = "/" name, .access = ACCESS_TABLE, \
		.handle = function, .body_max = max, __VA_ARGS__            \
	}

#define SMALL (64u << 10)
#define LARGE (4u << 20)

static const struct route list[] = {
	{ .method = "GET", .path = "/health", .access = ACCESS_OPEN, .handle = health },
	RPC("process.Process/Start", process_start, LARGE,
	    .closed = process_stream_closed),
	RPC("process.Process/Connect", process_connect, SMALL,
	    .closed = process_stream_closed),
	RPC("process.Process/List", process_list, SMALL),
	RPC("process.Process/SendInput", process_input, LARGE,
	    .closed = process_input_closed),
	RPC("process.Process/StreamInput", process_stream_input, 4 * LARGE,
	    .closed = process_input_closed),
	RPC("process.Process/CloseStdin", process_close_stdin, SMALL,
	    .closed = process_input_closed),
	RPC("process.Process/SendSignal", process_signal, SMALL),
	RPC("process.Process/Update", process_update, SMALL),
	RPC("filesystem.Filesystem/Stat", filesystem_stat, SMALL,
	    .closed = filesystem_closed),
	RPC("filesystem.Filesystem/ListDir", filesystem_list, SMALL,
	    .closed = filesystem_closed),
	RPC("filesystem.Filesystem/MakeDir", filesystem_make_dir, SMALL,
	    .closed = filesystem_closed),
	RPC("filesystem.Filesystem/Move", filesystem_move, SMALL,
	    .closed = filesystem_closed),
	RPC("filesystem.Filesystem/Remove", filesystem_remove, SMALL,
	    .closed = filesystem_closed),
	RPC("filesystem.Filesystem/CreateWatcher", watch_create, SMALL, .closed = watch_closed),
	RPC("filesystem.Filesystem/WatchDir", watch_stream, SMALL, .closed = watch_closed),
	RPC("filesystem.Filesystem/GetWatcherEvents", watch_events, SMALL),
	RPC("filesystem.Filesystem/RemoveWatcher", watch_remove, SMALL),
	{ .method = "GET",
	  .path = "/files",
	  .access = ACCESS_TABLE,
	  .handle = files_read,
	  .closed = files_read_closed },
	{ .method = "POST",
	  .path = "/files",
	  .access = ACCESS_TABLE,
	  .handle = files_write,
	  .begin = files_write_begin,
	  .part = files_write_part,
	  .closed = files_write_closed },
	RPC("execute", code_execute, LARGE, .closed = code_closed),
	RPC("contexts", code_no_context, SMALL),
	RPC("contexts/*/restart", code_restart, SMALL, .closed = code_closed),
	{ .method = "GET",
	  .path = "/contexts",
	  .access = ACCESS_TABLE,
	  .handle = code_contexts },
	{ .method = "DELETE",
	  .path = "/contexts/*",
	  .access = ACCESS_TABLE,
	  .handle = code_no_context },
};

const struct routes envd_routes = { .list = list,
				    .count = ARRAY_LEN(list),
				    .claims = claims,
				    .may_pass = may_pass,
				    .fail = e2b_fail };
