#include "actions/denial_reason.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/list.h"
#include "base/own.h"
#include "sandbox/explain/why.h"

static bool is_listed(const struct denial_reason *h, const char *sentence)
{
	for (size_t i = 0; i < h->count; i++)
		if (strcmp(h->sentences[i], sentence) == 0)
			return true;
	return false;
}

void denial_reason_path(struct denial_reason *h, const struct why *w, const char *what,
			const char *path, uint32_t sys)
{
	struct answer *a = &h->answers[h->count];

	if (!w->plan || !sys || h->count == DENIAL_REASON_MAX ||
	    !why_refused(w, path, (int)sys, a))
		return;
	char *sentence = text_format("Refused by hutch: %s%s%s%s", a->text,
				     a->line ? " (" : "", a->line ? a->line : "",
				     a->line ? ")" : "");
	if (is_listed(h, sentence)) {
		free(sentence);
		answer_done(a);
		return;
	}
	h->sentences[h->count] = sentence;
	/* The answer about a missing path has exactly OpenHands' words, which clients
	 * know; so no sentence is added. */
	h->denials[h->count++] = (struct denial){
		.what = what, .path = path, .layer = a->layer, .rule = a->line,
		.remedy = a->change, .sentence = sys == ENOENT ? NULL : sentence,
	};
}

void denial_reason_output(struct denial_reason *h, const struct why *w, const char *what,
			  const void *output, size_t len, const char *cwd)
{
	if (!w->plan)
		return;
	h->stderr_count =
		stderr_denials_find(output, len, *cwd ? cwd : NULL, h->stderr_denials);
	for (size_t i = 0; i < h->stderr_count; i++)
		denial_reason_path(h, w, what, h->stderr_denials[i].path,
				   (uint32_t)h->stderr_denials[i].sys);
}

void denial_reason_tell(const struct denial_reason *h, struct observed *o)
{
	o->denials = h->denials;
	o->denial_count = h->count;
}

void denial_reason_done(struct denial_reason *h)
{
	for (size_t i = 0; i < h->count; i++) {
		answer_done(&h->answers[i]);
		own_free(&h->sentences[i]);
	}
	stderr_denials_done(h->stderr_denials, h->stderr_count);
	*h = (struct denial_reason){ 0 };
}
