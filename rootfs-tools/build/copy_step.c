/* Carries out COPY and ADD, and makes the folder of WORKDIR. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive/outcome.h"
#include "base/err.h"
#include "base/own.h"
#include "rootfs-tools/build/base_image.h"
#include "rootfs-tools/build/builder.h"
#include "rootfs-tools/build/copying.h"
#include "rootfs-tools/index/images.h"
#include "rootfs-tools/layers/blobs.h"
#include "store/reference.h"

struct copy {
	struct copying copying;
	struct list words;
	struct heredoc *heredocs;  /* owned; the instruction's words and texts, with
				    * variables replaced */
	struct image_config image; /* the image or stage that --from names */
	char *to, *owner;	   /* owned */
};

static void copy_done(struct copy *c)
{
	list_done(&c->words);
	for (size_t i = 0; i < c->copying.heredoc_count; i++)
		free(c->heredocs[i].text);
	free(c->heredocs);
	image_config_done(&c->image);
	free(c->to);
	free(c->owner);
}

/* Makes the path absolute.  A slash at the path's end stays, and a "." at its end
 * counts as one: both say that the path is a folder. */
static char *whole_path(const struct making *m, const char *path)
{
	const char *from = m->config.workdir ? m->config.workdir : "/";
	size_t len = strlen(path);
	bool is_dot = !strcmp(path, ".") || (len > 1 && !strcmp(path + len - 2, "/."));

	return text_format("%s%s%s%s", *path == '/' ? "" : from, *path == '/' ? "" : "/",
			   path, is_dot ? "/" : "");
}

/* --- what it says --------------------------------------------------------------- */

static int refuse_url(const char *word, struct err *e)
{
	static const char *const begins[] = { "http://", "https://", "git@", "git://",
					      "ssh://" };

	for (size_t i = 0; i < ARRAY_LEN(begins); i++)
		if (!strncmp(word, begins[i], strlen(begins[i])))
			return err_set(e, ERR_UNSUPPORTED,
				       "ADD of an address is not supported: "
				       "get '%.200s' before the build, or by a RUN",
				       word);
	return 0;
}

static int take_words(struct copy *c, const struct making *m, const struct instruction *i,
		      struct err *e)
{
	const struct expand x = making_scope(m);
	size_t last = i->words.count - 1;
	AUTO_FREE char *to = NULL;

	for (size_t n = 0; n < last; n++) {
		AUTO_FREE char *word = NULL;
		if (i->heredoc_count && instruction_is_heredoc(i->words.items[n]))
			continue;
		if (expand_word(&x, i->words.items[n], &word, e) < 0)
			return -1;
		if (i->kind == INSTRUCTION_ADD && refuse_url(word, e) < 0)
			return -1;
		list_add(&c->words, word);
	}
	if (expand_word(&x, i->words.items[last], &to, e) < 0)
		return -1;
	c->to = whole_path(m, to);
	size_t len = strlen(c->to);
	if (c->words.count + i->heredoc_count > 1 && c->to[len - 1] != '/')
		return err_set(e, ERR_USAGE,
			       "there are %zu sources, so the destination must "
			       "end with a slash",
			       c->words.count + i->heredoc_count);
	return 0;
}

static int take_heredocs(struct copy *c, const struct making *m,
			 const struct instruction *i, struct err *e)
{
	const struct expand x = making_scope(m);

	c->heredocs = calloc(i->heredoc_count + 1, sizeof(*c->heredocs));
	if (!c->heredocs)
		abort();
	for (size_t n = 0; n < i->heredoc_count; n++) {
		const struct heredoc *h = &i->heredocs[n];
		if (strchr(h->name, '/') || !strcmp(h->name, ".") ||
		    !strcmp(h->name, ".."))
			return err_set(e, ERR_USAGE, "'%.100s' is no name for a file",
				       h->name);
		c->heredocs[n].name = h->name; /* borrowed */
		if (!h->expands)
			c->heredocs[n].text = text_copy(h->text);
		else if (expand_text(&x, h->text, &c->heredocs[n].text, e) < 0)
			return -1;
		c->copying.heredoc_count++;
	}
	return 0;
}

static int take_mode(struct copy *c, const char *text, struct err *e)
{
	size_t len = strlen(text);

	if (!len || len > 4 || strspn(text, "01234567") != len)
		return err_set(e, ERR_UNSUPPORTED,
			       "--chmod=%.60s: it must be octal, such as "
			       "0755",
			       text);
	c->copying.copy_layer.has_mode = true;
	c->copying.copy_layer.mode = (uint32_t)strtoul(text, NULL, 8);
	return 0;
}

static int take_flags(struct copy *c, const struct making *m, const struct instruction *i,
		      struct err *e)
{
	const struct expand x = making_scope(m);
	const char *owner = instruction_flag(i, "chown"),
		   *mode = instruction_flag(i, "chmod");
	AUTO_FREE char *text = NULL;

	if (owner && expand_word(&x, owner, &c->owner, e) < 0)
		return -1;
	if (mode && (expand_word(&x, mode, &text, e) < 0 || take_mode(c, text, e) < 0))
		return -1;
	return 0;
}

/* Finds the source of --from: an earlier stage, or an image, which is pulled if
 * it is not in the store. */
static int take_from(struct copy *c, const struct making *m, const struct instruction *i,
		     struct err *e)
{
	const char *from = instruction_flag(i, "from");
	size_t number = (size_t)(m->stage - m->b->stages);
	struct reference r;
	struct digest image;

	if (!from)
		return 0;
	int stage = stages_find(m->b, from, number);
	if (stage >= 0) {
		c->copying.from = &m->b->stages[stage].result.diff_ids;
		return 0;
	}
	if (reference_parse(from, &r, e) < 0 ||
	    base_image_find(&m->b->store, &r, false, &image, e) < 0 ||
	    image_config_read(&m->b->store, &image, &c->image, e) < 0)
		return err_in(e, "--from=%.60s is no earlier stage, and as an image",
			      from);
	c->copying.from = &c->image.diff_ids;
	return 0;
}

/* --- what it does --------------------------------------------------------------- */

static void prepare(struct copy *c, const struct making *m)
{
	struct copying *k = &c->copying;

	k->s = &m->b->store;
	k->context = m->b->context;
	k->ignore = &m->b->ignore;
	k->words = &c->words;
	k->heredocs = c->heredocs;
	k->copy_layer.layers = &m->config.diff_ids;
	k->copy_layer.to = c->to;
	k->copy_layer.owner = c->owner;
	k->copy_layer.now = m->b->now;
	k->copy_layer.newest = m->b->newest;
}

static int make_key(const struct copy *c, const struct making *m, const char *what,
		    struct digest *ret, struct err *e)
{
	const struct copy_layer *p = &c->copying.copy_layer;
	struct hash *key = cache_key(m, what);
	AUTO_FREE char *mode = text_format("%d %o", p->has_mode, p->mode);

	cache_add(key, c->to);
	cache_add(key, c->owner ? c->owner : "");
	cache_add(key, mode);
	int rc = copying_digest(&c->copying, key, e);
	if (rc == 0)
		hash_end(key, ret);
	hash_free(key);
	return rc;
}

static void tell_left_out(const struct outcome *o)
{
	if (o->left_out > 0)
		(void)fprintf(stderr, "hutch: %llu left out: %s\n",
			      (unsigned long long)o->left_out, o->first);
}

static int make_layer(const struct copy *c, struct making *m, const struct digest *key,
		      const char *history, struct err *e)
{
	struct outcome outcome = { 0 };
	struct blob *blob = NULL;

	if (blob_begin(&m->b->store, NULL, &blob, e) < 0)
		return -1;
	int rc = copying_write(&c->copying, blob, &outcome, e);
	if (rc == 0) {
		tell_left_out(&outcome);
		rc = cache_keep(m, blob, key, history, e);
	}
	blob_done(blob);
	return rc;
}

static int do_copy(struct copy *c, struct making *m, const char *what, const char *text,
		   struct err *e)
{
	struct digest key;

	prepare(c, m);
	if (make_key(c, m, what, &key, e) < 0)
		return -1;
	int found = cache_find(m, &key, text, e);
	steps_show(m, text, found > 0);
	return found != 0 ? (found < 0 ? -1 : 0) : make_layer(c, m, &key, text, e);
}

int copy_step(struct making *m, const struct instruction *i, struct err *e)
{
	struct copy c = { 0 };

	c.copying.unpacks = i->kind == INSTRUCTION_ADD;
	int rc = take_from(&c, m, i, e);
	if (rc == 0)
		rc = take_flags(&c, m, i, e);
	if (rc == 0)
		rc = take_words(&c, m, i, e);
	if (rc == 0)
		rc = take_heredocs(&c, m, i, e);
	if (rc == 0)
		rc = do_copy(&c, m, instruction_name(i->kind), i->text, e);
	copy_done(&c);
	return rc;
}

/* Makes the folder of a WORKDIR where the image has none; the folder belongs to the
 * stage's user, as in docker. */
int folder_step(struct making *m, const struct instruction *i, struct err *e)
{
	struct copy c = { 0 };

	c.to = text_format("%s/", m->config.workdir);
	c.owner = m->config.user ? text_copy(m->config.user) : NULL;
	int rc = do_copy(&c, m, "WORKDIR", i->text, e);
	copy_done(&c);
	return rc;
}
