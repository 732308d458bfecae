/* Heads and bodies of clients decide to which pod bytes go.  Each decision is within its
 * bounds; a pod is chosen only where its name stands in the request; and the head that a
 * pod gets is read by the same reader as a request of the same target and framing that
 * ends its connection. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/own.h"
#include "gateway/route/decide.h"
#include "gateway/route/pods.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct http_expect any = { .is_first = true };

static void claim(bool is_so)
{
	if (!is_so)
		abort();
}

static void check_decision(const struct pods *p, const struct decision *d,
			   const uint8_t *data, size_t size)
{
	claim(d->kind >= 0 && d->kind < DECISION_KINDS);
	claim(d->kind != DECIDE_MERGE || d->merge < MERGE_FORMS);
	claim(d->kind != DECIDE_ANSWER || (d->status >= 200 && d->status < 600));
	claim(d->kind != DECIDE_BODY || d->body_max > 0);
	if (d->kind != DECIDE_POD)
		return;
	claim(d->pod >= 0 && (size_t)d->pod < p->count);
	const char *name = p->items[d->pod].name;
	/* In a body, JSON may write its letters in other ways. */
	claim(d->body_max > 0 || memmem(data, size, name, strlen(name)) != NULL);
}

static void check_head(const struct request *r, bool has_body)
{
	struct http_head again = { 0 };
	struct buffer to;

	buffer_init(&to, 2 * HTTP_HEAD_MAX);
	request_write(r, has_body, &to);
	const enum http_verdict v =
		http_head_parse(&again, buffer_data(&to), buffer_len(&to), &any);
	if (buffer_len(&to) < HTTP_HEAD_MAX && again.why != HTTP_TOO_LARGE) {
		claim(v == HTTP_DONE && again.len == buffer_len(&to));
		claim(again.framing == r->head->framing &&
		      again.length == r->head->length);
		claim(again.target_len == r->head->target_len && !again.is_websocket);
		claim(memmem(buffer_data(&to), buffer_len(&to),
			     "\r\nConnection: close\r\n\r\n", 23) != NULL);
	}
	buffer_done(&to);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct http_head h = { 0 };
	struct pods pods = { 0 };
	struct request r;
	struct decision d;
	struct err e;

	if (http_head_parse(&h, data, size, &any) != HTTP_DONE)
		return 0;
	claim(pods_add(&pods, "hutch-0..2", "pods:1", &e) == 0);
	request_init(&r, &h, data);
	decide(&pods, &r, NULL, 0, false, &d);
	check_decision(&pods, &d, data, size);
	check_head(&r, d.body_max > 0);
	if (d.kind == DECIDE_BODY) {
		const size_t len = size - h.len < d.body_max ? size - h.len : d.body_max;
		AUTO_FREE char *body =
			malloc(len + 1); /* of its size, for the sanitizer */
		claim(body != NULL);
		memcpy(body, data + h.len, len);
		decide(&pods, &r, body, len, false, &d);
		claim(d.kind != DECIDE_BODY);
		check_decision(&pods, &d, data, size);
	}
	decision_done(&d);
	pods_done(&pods);
	return 0;
}
