#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/base64.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/own.h"
#include "gateway/e2b.h"
#include "gateway/order.h"

#define LABEL "hutch.serve.e2b"

/* --- the label ------------------------------------------------------------------ */

/* The values of labels are text without line ends; in base64 they need no thought. */
void e2b_label(const struct e2b *x, struct order *o)
{
	struct buffer json;

	json_write_begin(&json);
	json_write_open(&json, NULL, "{");
	json_write_text(&json, "template", x->template);
	json_write_number(&json, "timeout", (int64_t)x->timeout_s);
	json_write_bool(&json, "pauses", x->pauses);
	json_write_bool(&json, "resumes", x->resumes);
	json_write_raw(&json, "metadata", x->metadata);
	json_write_close(&json, "}");
	AUTO_FREE char *text = json_write_end(&json);
	const size_t len = base64_length(strlen(text));
	AUTO_FREE char *code = calloc(len + 1, 1);
	if (!code)
		abort();
	(void)base64_encode(text, strlen(text), (uint8_t *)code);
	list_addf(&o->labels, "e2b=%s", code);
}

static bool member_bool(const struct json_at *at, const char *key)
{
	struct json_at member;
	bool is_true = false;

	return json_member(at, key, &member) && json_bool(&member, &is_true, NULL) == 0 &&
	       is_true;
}

static void read_settings(const struct json_at *root, struct e2b *to)
{
	struct json_at metadata;
	size_t len;

	to->template = text_copy(json_member_string(root, "template", ""));
	to->timeout_s = json_member_uint(root, "timeout", 0);
	to->pauses = member_bool(root, "pauses");
	to->resumes = member_bool(root, "resumes");
	if (json_member(root, "metadata", &metadata)) {
		const char *source = json_source(&metadata, &len);
		to->metadata = strndup(source, len);
	}
	if (!to->metadata)
		to->metadata = text_copy("{}");
}

/* Reads the label's value; false: it is not one that this program wrote. */
static bool read_label(const char *code, struct e2b *to)
{
	const size_t len = strlen(code);
	AUTO_FREE char *text = malloc(len + 1);
	size_t size;
	struct json_at root;

	if (!text || !base64_decode(code, len, (uint8_t *)text, &size))
		return false;
	AUTO_JSON struct json *doc = json_parse(text, size, NULL);
	if (!doc)
		return false;
	json_root(doc, "label", &root);
	read_settings(&root, to);
	return true;
}

static int64_t read_time(const char *text)
{
	struct tm tm = { 0 };

	return strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) ? (int64_t)timegm(&tm) : 0;
}

/* --- settings --------------------------------------------------------------------- */

static void e2b_free(void *extra)
{
	struct e2b *x = extra;

	loop_stop(x->box->all->loop, &x->timer);
	processes_free(x);
	watchers_free(x);
	free(x->template);
	free(x->metadata);
	free(x);
}

static void on_removed(void *context, struct box *b, const struct hutch_error *why)
{
	struct e2b *x = context;

	(void)b;
	x->is_ending = why == NULL;
}

static void on_end(void *context)
{
	struct e2b *x = context;

	if (!e2b_is_there(x->box))
		return;
	if (!x->pauses) {
		x->is_ending = true;
		box_remove(x->box, x, on_removed);
		return;
	}
	x->is_paused = true;
	box_pause(x->box, NULL, NULL);
}

struct e2b *e2b_attach(struct box *b, const struct e2b *settings)
{
	struct e2b *x = calloc(1, sizeof(*x));

	if (!x)
		abort();
	*x = *settings;
	x->template = text_copy(settings->template);
	x->metadata = text_copy(settings->metadata);
	x->box = b;
	x->timer = (struct timer){ .context = x, .expired = on_end };
	b->extra = x;
	b->extra_free = e2b_free;
	return x;
}

void e2b_extend(struct e2b *x, uint64_t seconds)
{
	x->end = (int64_t)time(NULL) + (int64_t)seconds;
	loop_start(x->box->all->loop, &x->timer, (int64_t)seconds * 1000);
}

struct e2b *e2b_of(struct box *b)
{
	AUTO_JSON struct json *doc = NULL;
	struct e2b found = { 0 }, *x = NULL;
	struct json_at root, labels;

	if (b->extra || b->kind != BOX_PLAIN || !b->info)
		return b->extra;
	doc = json_parse(b->info, strlen(b->info), NULL);
	if (!doc)
		return NULL;
	json_root(doc, "info", &root);
	if (json_member(&root, "labels", &labels) &&
	    read_label(json_member_string(&labels, LABEL, ""), &found)) {
		found.started = read_time(json_member_string(&root, "created", ""));
		/* The server may have paused it itself, since it was idle. */
		found.is_paused = b->state == BOX_PAUSED && b->all->serve->idle_ms == 0;
		x = e2b_attach(b, &found);
		e2b_extend(x, x->timeout_s);
	}
	free(found.template);
	free(found.metadata);
	return x;
}

bool e2b_is_there(struct box *b)
{
	const struct e2b *x = e2b_of(b);

	return b->state != BOX_ENDED && b->state != BOX_FAILED && !(x && x->is_ending);
}

static void on_reached(void *context, struct box *b, const struct hutch_error *why)
{
	size_t *waiting = context;

	--*waiting;
	if (!why)
		(void)e2b_of(b);
}

void e2b_adopt(struct boxes *all, size_t *waiting)
{
	*waiting = 1; /* an answer may come at once */
	for (struct box *b = all->first; b; b = b->next)
		if (b->kind == BOX_PLAIN && !b->is_stopped) {
			++*waiting;
			box_reach(b, waiting, on_reached);
		}
	--*waiting;
}
