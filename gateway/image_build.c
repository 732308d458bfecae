#include "gateway/image_build.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/own.h"
#include "gateway/gateway.h"
#include "gateway/keys.h"
#include "gateway/order.h"

#define UNDER_WAY_MAX 4 /* as many as the spawner takes */
#define RECORDS_MAX \
	64 /* builds that are known; the oldest ended one is forgotten first */
#define ID_DIGITS 32
#define PIECE	  (48u << 10) /* characters that are decoded at once */
#define STATUS_MS 20000	      /* how long an answer about a build under way may wait */

/* --- what is known of builds ------------------------------------------------------ */

enum build_state {
	BUILD_WORKING,
	BUILD_SUCCESS,
	BUILD_FAILURE,
	BUILD_TIMEOUT,
	BUILD_CANCELLED,
	BUILD_INTERNAL_ERROR,
	BUILD_STATES
};

/* The words of OpenHands' client, which takes each other word for a build under way. */
static const char *const states[BUILD_STATES] = {
	[BUILD_WORKING] = "WORKING",	 [BUILD_SUCCESS] = "SUCCESS",
	[BUILD_FAILURE] = "FAILURE",	 [BUILD_TIMEOUT] = "TIMEOUT",
	[BUILD_CANCELLED] = "CANCELLED", [BUILD_INTERNAL_ERROR] = "INTERNAL_ERROR",
};

/* A request for the state of a build under way. */
struct build_watch {
	struct build_watch *next;
	struct build_record *record;
	struct visit *visit;
	struct timer timer;
};

struct build_record {
	struct build_record *next;
	struct build_watch *watches;
	struct image_builds *all;
	char id[ID_DIGITS + 1];
	enum build_state state;
	char *image, *error; /* owned; error: NULL, there is none */
};

static void record_free(struct build_record *r)
{
	free(r->image);
	free(r->error);
	free(r);
}

/* Forgets the oldest one that has ended, if there are too many. */
static void forget_old(struct image_builds *all)
{
	struct build_record **oldest = NULL;
	size_t count = 0;

	for (struct build_record **at = &all->first; *at; at = &(*at)->next) {
		count++;
		/* A request whose answer is being sent has a watch. */
		if ((*at)->state != BUILD_WORKING && !(*at)->watches)
			oldest = at;
	}
	if (count <= RECORDS_MAX || !oldest)
		return;
	struct build_record *r = *oldest;
	*oldest = r->next;
	record_free(r);
}

static struct build_record *record_new(struct image_builds *all, const char *image)
{
	struct build_record *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->all = all;
	r->image = text_copy(image);
	keys_random(r->id, ID_DIGITS);
	r->next = all->first;
	all->first = r;
	forget_old(all);
	return r;
}

static enum build_state state_of(const struct spawn_answer *a)
{
	static const struct {
		const char *kind;
		enum build_state state;
	} known[] = { { "invalid", BUILD_FAILURE },
		      { "refused", BUILD_FAILURE },
		      { "timeout", BUILD_TIMEOUT },
		      { "disconnected", BUILD_CANCELLED } };

	if (!a->kind)
		return BUILD_SUCCESS;
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (!strcmp(known[i].kind, a->kind))
			return known[i].state;
	return BUILD_INTERNAL_ERROR;
}

static void reply_state(struct visit *v, const struct build_record *r)
{
	struct buffer json;

	json_write_begin(&json);
	json_write_open(&json, NULL, "{");
	json_write_text(&json, "build_id", r->id);
	json_write_text(&json, "status", states[r->state]);
	if (r->state == BUILD_SUCCESS)
		json_write_text(&json, "image", r->image);
	if (r->error)
		json_write_text(&json, "error", r->error);
	json_write_close(&json, "}");
	visit_reply(v, &json);
}

static void on_built(void *context, struct spawn_answer *a)
{
	struct build_record *r = context;

	r->all->under_way--;
	r->state = state_of(a);
	if (a->kind)
		r->error = text_copy(a->message);
	for (const struct build_watch *w = r->watches; w; w = w->next)
		reply_state(w->visit, r);
}

/* --- the upload ------------------------------------------------------------------- */

struct build_upload {
	struct image_builds *all;
	int spool;	/* owned; -1: it is not there yet */
	uint64_t size;	/* of what is in it */
	char digits[4]; /* characters of base64 that make no whole group yet */
	size_t digit_count;
	bool is_padded; /* the base64 is at its end */
	struct list tags;
};

static void on_spool(void *context, struct spawn_answer *a)
{
	struct visit *v = context;
	struct build_upload *u = v->state;

	u->spool = a->fd;
	a->fd = -1;
	if (u->spool < 0)
		visit_fail(v, 503, a->message ? a->message : "no room for the context");
	http_go_on(v->request);
}

void image_build_begin(struct visit *v)
{
	struct image_builds *all = &v->gateway->builds;
	struct order o = { .kind = ORDER_SPOOL };
	struct build_upload *u = NULL;

	if (all->under_way < UNDER_WAY_MAX)
		u = calloc(1, sizeof(*u));
	if (!u) {
		http_add(v->request, "Retry-After", "30");
		visit_fail(v, 429, "Too many builds are under way");
		return;
	}
	u->all = all;
	u->spool = -1;
	v->state = u;
	all->under_way++;
	http_hold(v->request);
	spawn_link_ask(&v->gateway->link, &o, v, on_spool);
}

static void write_piece(struct visit *v, const char *digits, size_t len)
{
	struct build_upload *u = v->state;
	uint8_t bytes[PIECE / 4 * 3];
	size_t size;

	if (u->is_padded || !base64_decode(digits, len, bytes, &size)) {
		visit_fail(v, 422, "context: base64 of a tar.gz was expected");
		return;
	}
	u->is_padded = digits[len - 1] == '=';
	if (pwrite(u->spool, bytes, size, (off_t)u->size) != (ssize_t)size)
		visit_fail(v, 507, "The context does not fit on the server's disk");
	u->size += size;
}

static void add_digits(struct visit *v, const char *at, size_t len)
{
	struct build_upload *u = v->state;

	while (len > 0 && !http_is_answered(v->request)) {
		const bool is_split = u->digit_count > 0 || len < sizeof(u->digits);

		if (is_split) {
			u->digits[u->digit_count++] = *at++;
			len--;
			if (u->digit_count < sizeof(u->digits))
				continue;
			u->digit_count = 0;
			write_piece(v, u->digits, sizeof(u->digits));
			continue;
		}
		const size_t most = len < PIECE ? len / 4 * 4 : PIECE;
		write_piece(v, at, most);
		at += most;
		len -= most;
	}
}

/* Adds to the name that a part is, which may come in pieces. */
static void add_tag(struct visit *v, const struct http_part *p)
{
	struct list *tags = &((struct build_upload *)v->state)->tags;
	AUTO_FREE char *piece = text_format("%.*s", (int)p->len, p->bytes);

	if (p->at + p->len > ORDER_IMAGE || strlen(piece) != p->len ||
	    (p->at == 0 && tags->count == ORDER_TAGS)) {
		visit_fail(v, 422, "tags: up to 16 names of up to 512 characters");
		return;
	}
	if (p->at == 0) {
		list_add(tags, piece);
		return;
	}
	char **last = &tags->items[tags->count - 1];
	char *whole = text_format("%s%s", *last, piece);
	free(*last);
	*last = whole;
}

void image_build_part(struct visit *v, const struct http_part *p)
{
	if (http_is_answered(v->request))
		return;
	if (!strcmp(p->name, "context"))
		add_digits(v, p->bytes, p->len);
	else if (!strcmp(p->name, "target_image") || !strcmp(p->name, "tags"))
		add_tag(v, p);
}

void image_build_closed(struct visit *v)
{
	struct build_upload *u = v->state;

	if (!u)
		return;
	u->all->under_way--;
	own_close(&u->spool);
	list_done(&u->tags);
	free(u);
}

/* --- the build -------------------------------------------------------------------- */

/* The spawner checks it, too: a front that has been taken over could leave it out. */
static bool has_our_names(const struct list *tags)
{
	for (size_t i = 0; i < tags->count; i++)
		if (strncmp(tags->items[i], ORDER_BUILT, strlen(ORDER_BUILT)) != 0)
			return false;
	return tags->count > 0;
}

static void start(struct visit *v, struct build_upload *u)
{
	struct order o = { .kind = ORDER_BUILD, .tags = u->tags };
	struct build_record *r = record_new(u->all, u->tags.items[0]);
	struct buffer json;

	if (!r) {
		visit_fail(v, 503, "out of memory");
		return;
	}
	json_write_begin(&json);
	json_write_open(&json, NULL, "{");
	json_write_text(&json, "build_id", r->id);
	json_write_close(&json, "}");
	visit_reply(v, &json);
	u->all->under_way++; /* until on_built() */
	spawn_link_give(&v->gateway->link, &o, u->spool, r, on_built);
}

void image_build(struct visit *v)
{
	struct build_upload *u = v->state;

	if (u->size == 0 || u->digit_count > 0)
		visit_fail(v, 422, "context: base64 of a tar.gz was expected");
	else if (!has_our_names(&u->tags))
		visit_fail(
			v, 422,
			"target_image, tags: names that begin with the registry_prefix, "
			"such as " ORDER_BUILT "runtime:1");
	else
		start(v, u);
}

static struct build_record *find(const struct image_builds *all, const char *id)
{
	struct build_record *r = all->first;

	while (r && strcmp(r->id, id) != 0)
		r = r->next;
	return r;
}

static void on_patience(void *context)
{
	const struct build_watch *w = context;

	reply_state(w->visit, w->record);
}

static void watch(struct visit *v, struct build_record *r)
{
	struct build_watch *w = calloc(1, sizeof(*w));

	if (!w) {
		reply_state(v, r);
		return;
	}
	*w = (struct build_watch){ .next = r->watches, .record = r, .visit = v };
	w->timer = (struct timer){ .context = w, .expired = on_patience };
	r->watches = w;
	v->state = w;
	loop_start(&v->gateway->loop, &w->timer, STATUS_MS);
}

void image_build_status(struct visit *v)
{
	const char *id = http_query(v->request, "build_id");
	struct build_record *r = find(&v->gateway->builds, id ? id : "");

	if (!r)
		visit_fail(v, 404, "The server knows no such build");
	else if (r->state == BUILD_WORKING)
		watch(v, r);
	else
		reply_state(v, r);
}

void image_build_status_closed(struct visit *v)
{
	struct build_watch *w = v->state;

	if (!w)
		return;
	loop_stop(&v->gateway->loop, &w->timer);
	for (struct build_watch **at = &w->record->watches; *at; at = &(*at)->next) {
		if (*at != w)
			continue;
		*at = w->next;
		break;
	}
	free(w);
}
