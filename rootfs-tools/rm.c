/* hutch image rm and gc: remove names, and then all that is no longer referred to. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "base/wait_line.h"
#include "cli/common/flags.h"
#include "cli/common/report.h"
#include "cli/common/table.h"
#include "rootfs-tools/index/gc.h"
#include "rootfs-tools/index/store_index.h"
#include "rootfs-tools/verbs.h"
#include "sandbox/launch/result.h"
#include "store/reference.h"
#include "store/refs.h"
#include "store/store.h"

/* --- rm ------------------------------------------------------------------------ */

static int remove_names(const struct store *s, const struct store_index *c, size_t image,
			struct err *e)
{
	for (size_t i = 0; i < c->name_count; i++)
		if (c->names[i].image == image &&
		    refs_remove(s, &c->names[i].reference, e) < 0)
			return -1;
	return 0;
}

static size_t count_names(const struct store_index *c, size_t image)
{
	size_t count = 0;

	for (size_t i = 0; i < c->name_count; i++)
		count += c->names[i].image == image;
	return count;
}

/* Removes names: a reference removes that name alone; an id removes all names of the
 * image. */
static int remove_found(const struct store *s, const struct store_index *c,
			const char *text, bool is_forced, struct err *e)
{
	size_t image, name;

	if (store_index_find(c, text, &image, &name, e) < 0)
		return is_forced && e->kind == ERR_NOT_FOUND ? 0 : -1;
	size_t names = count_names(c, image);
	bool is_last = name == SIZE_MAX || names == 1;
	if (name == SIZE_MAX && names > 1 && !is_forced) {
		(void)err_set(e, ERR_EXISTS, "image %s has %zu names", text, names);
		return err_remedy(e, "hutch image rm -f %s removes all of them", text);
	}
	if (is_last && !is_forced && gc_is_used(s, &c->images[image].digest)) {
		(void)err_set(e, ERR_BUSY, "image '%.200s' is used by a sandbox", text);
		return err_remedy(e, "hutch image rm -f %.200s removes the name now, and "
				     "hutch image gc the rest when no sandbox uses "
				     "it", text);
	}
	if (name != SIZE_MAX)
		return refs_remove(s, &c->names[name].reference, e);
	return remove_names(s, c, image, e);
}

static int remove_one(const struct store *s, const char *text, bool is_forced,
		      struct err *e)
{
	struct store_index c;

	if (store_index_take(s, &c, e) < 0)
		return -1;
	int rc = remove_found(s, &c, text, is_forced, e);
	store_index_done(&c);
	return rc;
}

static int collect_slowly(const struct store *s, bool only_looks, struct collected *ret,
			  struct err *e)
{
	struct wait_line line;

	wait_line_start(&line, "removing what no image needs");
	int rc = collect(s, only_looks, ret, e);
	wait_line_stop(&line);
	return rc;
}

/* Collects unreferenced files.  Does nothing while another process holds the store's
 * lock; the next collection then removes the rest. */
static int collect_now(const struct store *s, struct err *e)
{
	struct collected done;
	AUTO_CLOSE int lock = store_lock(s, true, false, e);

	if (lock < 0)
		return e->kind == ERR_BUSY ? 0 : -1;
	return collect_slowly(s, false, &done, e);
}

static int remove_all(char **names, bool is_forced, struct err *e)
{
	struct store s;
	int code = 0;

	if (store_open(&s, false, e) < 0)
		return is_forced && e->kind == ERR_NOT_FOUND ? 0 : -1;
	for (; *names; names++) {
		if (remove_one(&s, *names, is_forced, e) == 0) {
			(void)puts(*names);
			continue;
		}
		report_error(e);
		code = EXIT_HUTCH;
	}
	int rc = collect_now(&s, e);
	store_done(&s);
	return rc < 0 ? -1 : code;
}

int image_rm_main(char **argv)
{
	bool is_forced = false;
	const struct flag flags[] = {
		{ 'f', "force", NULL, "even if it is used, or is not there", &is_forced,
		  NULL },
	};
	const struct usage usage = {
		.synopsis = "hutch image rm [-f] REF...",
		.about = "Removes names of images, and images left without one.",
		.flags = flags, .count = ARRAY_LEN(flags),
		.operands_min = 1, .operands_max = SIZE_MAX,
	};
	struct err e;
	enum flags_result got = flags_begin(argv, &usage);

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	int code = remove_all(argv, is_forced, &e);
	if (code >= 0)
		return code;
	report_error(&e);
	return EXIT_HUTCH;
}

/* --- gc ------------------------------------------------------------------------ */

static void print_collected(const struct collected *done, bool only_looks)
{
	AUTO_FREE char *bytes = table_bytes(done->bytes);

	(void)printf("%s %s: %zu images, %zu layers, %zu blobs, %zu parts of blobs\n",
		     only_looks ? "would free" : "freed", bytes, done->images,
		     done->layers, done->blobs, done->partial);
	if (done->ranged)
		(void)printf("%zu copies of layers for --idmap ranges among it\n",
			     done->ranged);
	if (done->used)
		(void)printf("%zu images without a name are used, and stay\n",
			     done->used);
}

struct forgetting {
	const struct store *s;
	bool only_looks;
	size_t count;
	struct err *e;
	int rc;
};

static void forget(void *context, const struct reference *r, const struct digest *image)
{
	struct forgetting *f = context;

	(void)image;
	if (strcmp(r->registry, REFERENCE_BUILDS) != 0 ||
	    !strcmp(r->repository, REFERENCE_STEPS) || f->rc < 0)
		return;
	f->count++;
	if (!f->only_looks)
		f->rc = refs_remove(f->s, r, f->e);
}

/* Removes the names of cached layers of builds. */
static int forget_builds(const struct store *s, bool only_looks, struct err *e)
{
	struct forgetting f = { .s = s, .only_looks = only_looks, .e = e };

	if (refs_each(s, forget, &f, e) < 0 || f.rc < 0)
		return -1;
	(void)printf("%s %zu layers of builds\n", only_looks ? "would forget" : "forgot",
		     f.count);
	return 0;
}

static int gc(bool only_looks, bool forgets_builds, struct err *e)
{
	struct collected done = { 0 };
	struct store s;

	if (store_open(&s, false, e) < 0) {
		if (e->kind == ERR_NOT_FOUND)
			print_collected(&done, only_looks);
		return e->kind == ERR_NOT_FOUND ? 0 : -1;
	}
	AUTO_CLOSE int lock = store_lock(&s, true, true, e);
	int rc = lock < 0 ? -1 : 0;
	if (rc == 0 && forgets_builds)
		rc = forget_builds(&s, only_looks, e);
	if (rc == 0)
		rc = collect_slowly(&s, only_looks, &done, e);
	store_done(&s);
	if (rc == 0)
		print_collected(&done, only_looks);
	return rc;
}

int image_gc_main(char **argv)
{
	bool only_looks = false, forgets_builds = false;
	const struct flag flags[] = {
		{ 0, "build-cache", NULL, "also cached layers of builds", &forgets_builds,
		  NULL },
		{ 0, "dry-run", NULL, "say what would go, and remove nothing",
		  &only_looks, NULL },
	};
	const struct usage usage = {
		.synopsis = "hutch image gc [--build-cache] [--dry-run]",
		.about =
			"Removes images that have no name and are not used, and what only they "
			"have;\nand what was left by downloads that were not finished.  Waits for "
			"those that\nrun.",
		.flags = flags,
		.count = ARRAY_LEN(flags),
	};
	struct err e;
	enum flags_result got = flags_begin(argv, &usage);

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	return report_end(gc(only_looks, forgets_builds, &e), &e);
}
