#include "rootfs-tools/registry/fetch.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/wait_line.h"
#include "rootfs-tools/index/document.h"
#include "rootfs-tools/index/images.h"
#include "rootfs-tools/layers/blobs.h"
#include "rootfs-tools/layers/hash.h"
#include "rootfs-tools/layers/layers.h"
#include "rootfs-tools/registry/progress.h"
#include "rootfs-tools/registry/pull_workers.h"
#include "rootfs-tools/registry/registry.h"
#include "store/launch_config.h"
#include "store/reference.h"

#define INDEXES_MAX 3 /* how many indexes may lead to one another before a manifest */

struct fetch {
	const struct store *store;
	struct registry *registry;
	const struct reference *ref;
	const struct platform *platform; /* the wanted platform; NULL: this machine's */
	struct progress *progress;
	struct digest digest; /* digest of the manifest */
	struct manifest manifest;
	struct list diff_ids;
	struct pull_workers_job *jobs; /* owned */
	size_t job_count;
};

/* --- documents ----------------------------------------------------------------- */

/* Checks the document against the digest that was asked for, and against the digest in
 * the registry's header. */
static int check_text(const struct fetch *f, const struct digest *wanted,
		      const struct registry_text *t, struct err *e)
{
	char digest[DIGEST_TEXT];
	struct digest is;

	hash_bytes(t->text, t->len, &is);
	digest_print(&is, digest);
	bool is_wrong =
		(wanted && !digest_equal(wanted, &is)) ||
		(!strncmp(t->digest, "sha256:", 7) && strcmp(t->digest, digest) != 0);
	if (!is_wrong)
		return 0;
	(void)err_set(e, ERR_REFUSED,
		      "%s sent another manifest than it announced, with the digest %s",
		      registry_host(f->registry), digest);
	return err_remedy(
		e, "it was damaged on its way, or changed by a third party: try again, "
		   "or get it from elsewhere");
}

static int ask_text(struct fetch *f, const struct digest *wanted,
		    struct registry_text *ret, struct err *e)
{
	do {
		if (registry_manifest(f->registry, wanted, ret, e) < 0)
			return -1;
		if (check_text(f, wanted, ret, e) == 0)
			return 0;
		registry_text_done(ret);
	} while (registry_next(f->registry));
	return -1;
}

static int keep_text(const struct fetch *f, const struct registry_text *t,
		     struct digest *ret, struct err *e)
{
	struct blob *b = NULL;

	hash_bytes(t->text, t->len, ret);
	if (blob_begin(f->store, ret, &b, e) < 0)
		return -1;
	if (!b)
		return 0;
	int rc = blob_restart(b, e);
	if (rc == 0)
		rc = blob_add(b, t->text, t->len, e);
	if (rc == 0)
		rc = blob_commit(b, t->len, NULL, e);
	blob_done(b);
	return rc;
}

/* Takes a document from the store if it is there and its digest is known; else
 * fetches it and adds it to the store. */
static int get_text(struct fetch *f, const struct digest *wanted,
		    struct registry_text *ret, struct err *e)
{
	if (wanted && blobs_has(f->store, wanted, NULL)) {
		*ret = (struct registry_text){ 0 };
		f->digest = *wanted;
		return blobs_read(f->store, wanted, MANIFEST_MAX, &ret->text, &ret->len,
				  e);
	}
	if (ask_text(f, wanted, ret, e) < 0)
		return -1;
	if (keep_text(f, ret, &f->digest, e) == 0)
		return 0;
	registry_text_done(ret);
	return -1;
}

/* Returns a document's media type; NULL if the registry sent one that says nothing:
 * some registries do not parse the documents that they serve. */
static const char *type_of(const struct registry_text *t)
{
	static const char *const empty[] = { "", "application/json", "text/plain",
					     "application/octet-stream" };

	for (size_t i = 0; i < ARRAY_LEN(empty); i++)
		if (!strcmp(t->media_type, empty[i]))
			return NULL;
	return t->media_type;
}

static int choose(const struct fetch *f, const struct registry_text *t,
		  struct digest *next, struct err *e)
{
	struct descriptor d;

	if (index_choose(t->text, t->len, f->platform, &d, e) < 0) {
		if (e->kind == ERR_NOT_FOUND)
			(void)err_remedy(e,
					 "--platform OS/ARCHITECTURE gets one of those");
		return -1;
	}
	*next = d.digest;
	return 0;
}

/* Reads one document.  Returns 1 if the document is an index; *next is then the digest
 * of the document that was chosen from the index. */
static int read_document(struct fetch *f, const struct digest *wanted,
			 struct digest *next, struct err *e)
{
	struct registry_text t;
	enum document_kind kind;

	if (get_text(f, wanted, &t, e) < 0)
		return -1;
	int rc = document_kind(t.text, t.len, type_of(&t), &kind, e);
	if (rc == 0 && kind == DOCUMENT_INDEX)
		rc = choose(f, &t, next, e) < 0 ? -1 : 1;
	else if (rc == 0)
		rc = manifest_parse(t.text, t.len, &f->manifest, e);
	registry_text_done(&t);
	return rc;
}

static int find_manifest(struct fetch *f, struct err *e)
{
	struct digest next;
	int rc = read_document(f, f->ref->pin.hex[0] ? &f->ref->pin : NULL, &next, e);

	for (unsigned i = 0; rc == 1 && i < INDEXES_MAX; i++) {
		const struct digest wanted = next;
		rc = read_document(f, &wanted, &next, e);
	}
	return rc == 1 ?
		       err_set(e, ERR_PROTOCOL, "it is an index of indexes of indexes") :
		       rc;
}

/* --- the configuration --------------------------------------------------------- */

/* Checks the platform of an image.  An index has chosen the platform already, but a
 * manifest alone shows it only in its configuration. */
static int check_platform(const struct fetch *f, const struct launch_config *r,
			  struct err *e)
{
	struct platform here;
	const struct platform *wanted = f->platform ? f->platform : &here;

	platform_here(&here);
	if (!r->architecture || !strcmp(r->architecture, wanted->architecture))
		return 0;
	(void)err_set(e, ERR_NOT_FOUND, "there is no image for %s/%s here, but: linux/%s",
		      wanted->os, wanted->architecture, r->architecture);
	return err_remedy(e, "--platform linux/%.32s gets that one", r->architecture);
}

static int read_config(struct fetch *f, struct err *e)
{
	AUTO_FREE char *text = NULL;
	struct launch_config r;
	size_t len;

	if (pull_workers_fetch(f->store, f->registry, &f->manifest.config, NULL, NULL,
			       e) < 0 ||
	    blobs_read(f->store, &f->manifest.config.digest, CONFIG_MAX, &text, &len, e) <
		    0)
		return -1;
	launch_config_init(&r);
	int rc = config_parse(text, len, &r, &f->diff_ids, e);
	if (rc == 0)
		rc = check_platform(f, &r, e);
	launch_config_done(&r);
	if (rc == 0 && f->diff_ids.count != f->manifest.layer_count)
		return err_set(e, ERR_REFUSED,
			       "the manifest has %zu layers, and the image's "
			       "configuration %zu",
			       f->manifest.layer_count, f->diff_ids.count);
	return rc;
}

/* --- layers -------------------------------------------------------------------- */

static bool is_listed(const struct fetch *f, const struct digest *d)
{
	for (size_t i = 0; i < f->job_count; i++)
		if (digest_equal(&f->jobs[i].blob.digest, d))
			return true;
	return false;
}

/* Sorts the largest download first, so that at the end only small ones still run. */
static int by_size(const void *a, const void *b)
{
	const struct pull_workers_job *x = a, *y = b;

	return x->blob.size < y->blob.size ? 1 : x->blob.size > y->blob.size ? -1 : 0;
}

static uint64_t list_jobs(struct fetch *f)
{
	uint64_t total = 0;

	f->jobs = mem_zeroed(f->manifest.layer_count, sizeof(*f->jobs));
	for (size_t i = 0; i < f->manifest.layer_count; i++) {
		struct pull_workers_job job = { .blob = f->manifest.layers[i] };
		struct layer_about about;
		memcpy(job.diff_id.hex, f->diff_ids.items[i], sizeof(job.diff_id.hex));
		if (is_listed(f, &job.blob.digest) ||
		    (blobs_has(f->store, &job.blob.digest, NULL) &&
		     layers_has(f->store, &job.diff_id, &about)))
			continue;
		total = job.blob.size > UINT64_MAX - total ? UINT64_MAX :
							     total + job.blob.size;
		f->jobs[f->job_count++] = job;
	}
	qsort(f->jobs, f->job_count, sizeof(*f->jobs), by_size);
	return total;
}

static int fetch_layers(struct fetch *f, struct err *e)
{
	char name[REFERENCE_MAX];

	reference_print_short(f->ref, name);
	const uint64_t total = list_jobs(f);
	progress_begin(f->progress, name, f->job_count, total, clock_ms());
	int rc = pull_workers_run(f->store, f->registry, f->jobs, f->job_count,
				  f->progress, e);
	progress_end(f->progress);
	return rc;
}

/* Finds out what is to be got.  A registry may take long to answer. */
static int fetch_documents(struct fetch *f, struct err *e)
{
	AUTO_FREE char *text = text_format("waiting for %s", registry_host(f->registry));
	struct wait_line w = { .leash = -1 };

	if (f->progress->style == PROGRESS_BAR)
		wait_line_start(&w, text);
	int rc = find_manifest(f, e) < 0 ? -1 : read_config(f, e);
	wait_line_stop(&w);
	return rc;
}

static int fetch_all(struct fetch *f, struct err *e)
{
	if (fetch_documents(f, e) < 0 || fetch_layers(f, e) < 0)
		return -1;
	return images_finish(f->store, &f->digest, f->ref, e);
}

int fetch_image(const struct store *s, const struct mirrors *m, const struct reference *r,
		const struct platform *platform, struct progress *p, struct digest *ret,
		struct err *e)
{
	struct fetch f = { .store = s,
			   .ref = r,
			   .platform = platform,
			   .progress = p,
			   .registry = registry_new(m, r) };

	int rc = fetch_all(&f, e);
	if (rc == 0)
		*ret = f.digest;
	manifest_done(&f.manifest);
	list_done(&f.diff_ids);
	free(f.jobs);
	registry_free(f.registry);
	return rc;
}
