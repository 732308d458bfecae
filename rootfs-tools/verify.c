/* hutch image verify: checks that everything in the store has the digest in its
 * name. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/own.h"
#include "base/wait_line.h"
#include "cli/common/flags.h"
#include "cli/common/report.h"
#include "rootfs-tools/index/gc.h"
#include "rootfs-tools/index/images.h"
#include "rootfs-tools/index/store_index.h"
#include "rootfs-tools/layers/blobs.h"
#include "rootfs-tools/layers/count.h"
#include "rootfs-tools/layers/hash.h"
#include "rootfs-tools/layers/layers.h"
#include "rootfs-tools/layers/ranged.h"
#include "rootfs-tools/verbs.h"
#include "sandbox/launch/result.h"
#include "store/refs.h"
#include "store/rm_tree.h"
#include "store/store.h"

/* the exit code when something is broken */
#define EXIT_BROKEN 1

#define PIECE (256u << 10)

struct verifying {
	const struct store *s;
	bool repairs;
	size_t blobs, layers, images, names; /* counts of objects checked so far */
	size_t broken;
	size_t kept; /* count of broken objects that could not be removed */
	struct wait_line line;
};

#define DOING "verifying the store"

__attribute__((format(printf, 2, 3))) static void say(struct verifying *v,
						      const char *fmt, ...)
{
	va_list ap;

	wait_line_stop(&v->line);
	v->broken++;
	va_start(ap, fmt);
	(void)vprintf(fmt, ap);
	va_end(ap);
	(void)putchar('\n');
	wait_line_start(&v->line, DOING);
}

/* --- blobs --------------------------------------------------------------------- */

static int hash_file(int fd, struct digest *ret, struct err *e)
{
	AUTO_FREE char *piece = mem_new(PIECE);
	struct hash *h = hash_new();
	ssize_t n;

	while ((n = read(fd, piece, PIECE)) > 0)
		hash_add(h, piece, (size_t)n);
	hash_end(h, ret);
	hash_free(h);
	return n < 0 ? err_sys(e, "read a blob") : 0;
}

static void check_blob(struct verifying *v, int blobs, const char *hex)
{
	struct digest is = { 0 };
	struct err e = { 0 };
	AUTO_CLOSE int fd =
		openat(blobs, hex, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	v->blobs++;
	int rc = fd < 0 ? err_sys(&e, "open it") : hash_file(fd, &is, &e);
	if (rc == 0 && !strcmp(is.hex, hex))
		return;
	say(v, "blob %s: %s", hex, rc < 0 ? e.text : "its bytes have another digest");
	if (v->repairs && unlinkat(blobs, hex, 0) < 0)
		v->kept++;
}

static int check_blobs(struct verifying *v, struct err *e)
{
	struct list files = { 0 };
	AUTO_CLOSE int blobs = store_folder(v->s, STORE_BLOBS, e);
	int rc = blobs < 0 ? -1 : store_index_files(v->s, STORE_BLOBS, &files, e);

	for (size_t i = 0; i < files.count; i++)
		check_blob(v, blobs, files.items[i]);
	list_done(&files);
	return rc;
}

/* --- layers -------------------------------------------------------------------- */

static int look_at_layer(const struct store *s, const char *hex, struct err *e)
{
	AUTO_FREE char *path = text_format(STORE_LAYERS "/%s/" STORE_FS, hex);
	struct layer_about about;
	struct count is;
	struct digest d;

	memcpy(d.hex, hex, sizeof(d.hex));
	if (!layers_has(s, &d, &about))
		return err_set(e, ERR_NOT_FOUND, "its record is missing");
	AUTO_CLOSE int fs = openat(s->root, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
						  O_CLOEXEC);
	if (fs < 0)
		return err_sys(e, "open its folder");
	const struct counting c = { .folder = fs };
	if (count_in_jail(&c, &is, e) < 0)
		return -1;
	if (is.entries != about.there.entries || is.bytes != about.there.bytes)
		return err_set(e, ERR_REFUSED,
			       "%llu entries with %llu bytes are to be there, "
			       "and are %llu with %llu",
			       (unsigned long long)about.there.entries,
			       (unsigned long long)about.there.bytes,
			       (unsigned long long)is.entries,
			       (unsigned long long)is.bytes);
	if (is.sum == about.there.sum)
		return 0;
	return err_set(e, ERR_REFUSED, "names, modes, sizes or times in it have changed");
}

/* A launch or sandbox that holds the lock of an image with this layer keeps the
 * layer, even if it is broken. */
static bool layer_is_used(const struct store_index *c, const struct store *s,
			  const char *hex)
{
	for (size_t i = 0; i < c->image_count; i++)
		for (size_t k = 0; k < c->images[i].launch_config.layers.count; k++)
			if (!strcmp(c->images[i].launch_config.layers.items[k], hex) &&
			    gc_is_used(s, &c->images[i].digest))
				return true;
	return false;
}

static void remove_layer(struct verifying *v, const struct store_index *c,
			 const char *hex)
{
	AUTO_FREE char *gone = text_format("gone-%s", hex);
	AUTO_CLOSE int layers = store_folder(v->s, STORE_LAYERS, NULL);
	AUTO_CLOSE int tmp = store_folder(v->s, STORE_TMP, NULL);

	if (layer_is_used(c, v->s, hex) || layers < 0 || tmp < 0 ||
	    renameat(layers, hex, tmp, gone) < 0)
		v->kept++;
	else
		rm_tree_remove(tmp, gone);
	/* Copies of a broken layer are removed as well. */
	if (!layer_is_used(c, v->s, hex) && ranged_remove(v->s, hex, NULL) < 0)
		v->kept++;
}

static int check_layers(struct verifying *v, const struct store_index *c, struct err *e)
{
	struct list files = { 0 };
	int rc = store_index_files(v->s, STORE_LAYERS, &files, e);

	for (size_t i = 0; i < files.count; i++) {
		struct err why = { 0 };
		v->layers++;
		if (look_at_layer(v->s, files.items[i], &why) == 0)
			continue;
		say(v, "layer %s: %s", files.items[i], why.text);
		if (v->repairs)
			remove_layer(v, c, files.items[i]);
	}
	list_done(&files);
	return rc;
}

struct ranged_look {
	struct verifying *v;
	struct list broken; /* digests of broken objects */
};

/* Reports a copy that differs or cannot be read.  A copy that cannot be read may be
 * intact, so it is not removed. */
static void on_wrong(void *context, const char *maps, const char *hex, bool is_sure,
		     const struct err *why)
{
	struct ranged_look *l = context;

	if (!is_sure) {
		wait_line_stop(&l->v->line);
		note_print("note: layer %s for --idmap ranges (%s) was not looked at: %s",
			   hex, maps, why->text);
		wait_line_start(&l->v->line, DOING);
		return;
	}
	say(l->v, "layer %s for --idmap ranges (%s): %s", hex, maps, why->text);
	list_add(&l->broken, hex);
}

static int check_ranged(struct verifying *v, const struct store_index *c, struct err *e)
{
	struct ranged_look l = { .v = v };
	struct ranged_verifying all = { .context = &l, .on_wrong = on_wrong };
	int rc = ranged_verify(v->s, &all, e);

	for (size_t i = 0; v->repairs && i < l.broken.count; i++)
		if (layer_is_used(c, v->s, l.broken.items[i]) ||
		    ranged_remove(v->s, l.broken.items[i], NULL) < 0)
			v->kept++;
	list_done(&l.broken);
	return rc;
}

/* --- images and names ---------------------------------------------------------- */

static int look_at_blobs(const struct store *s, const struct manifest *m, struct err *e)
{
	uint64_t size;

	for (size_t i = 0; i <= m->layer_count; i++) {
		const struct descriptor *d = i < m->layer_count ? &m->layers[i]
								: &m->config;
		if (!blobs_has(s, &d->digest, &size))
			return err_set(e, ERR_NOT_FOUND, "its blob %s is not there",
				       d->digest.hex);
		if (size != d->size)
			return err_set(e, ERR_REFUSED, "its blob %s has another size",
				       d->digest.hex);
	}
	return 0;
}

static int look_at_image(const struct store *s, const struct store_index_image *image,
			 struct err *e)
{
	struct manifest m = { 0 };
	struct digest d;

	if (image->is_broken)
		return err_set(e, ERR_REFUSED, "its recipe is not valid");
	for (size_t i = 0; i < image->launch_config.layers.count; i++) {
		memcpy(d.hex, image->launch_config.layers.items[i], sizeof(d.hex));
		if (!layers_has(s, &d, NULL))
			return err_set(e, ERR_NOT_FOUND, "its layer %s is not there",
				       d.hex);
	}
	if (images_read(s, &image->digest, &m, e) < 0)
		return -1;
	int rc = look_at_blobs(s, &m, e);
	if (rc == 0 && !digest_equal(&m.config.digest, &image->launch_config.config))
		rc = err_set(e, ERR_REFUSED, "its recipe is of another configuration");
	manifest_done(&m);
	return rc;
}

/* Removes the image and, before that, its names. */
static void remove_image(struct verifying *v, const struct store_index *c, size_t image)
{
	int is_removed = 0;

	for (size_t i = 0; i < c->name_count; i++)
		if (c->names[i].image == image)
			(void)refs_remove(v->s, &c->names[i].reference, NULL);
	if (launch_config_remove_unused(v->s, &c->images[image].digest, &is_removed,
					NULL) < 0 ||
	    !is_removed)
		v->kept++;
}

static void check_images(struct verifying *v, const struct store_index *c)
{
	for (size_t i = 0; i < c->image_count; i++) {
		struct err why = { 0 };
		v->images++;
		if (look_at_image(v->s, &c->images[i], &why) == 0)
			continue;
		say(v, "image %s: %s", c->images[i].digest.hex, why.text);
		if (v->repairs)
			remove_image(v, c, i);
	}
}

static void check_names(struct verifying *v, const struct store_index *c)
{
	char text[REFERENCE_MAX];

	for (size_t i = 0; i < c->name_count; i++) {
		v->names++;
		if (c->names[i].image != SIZE_MAX)
			continue;
		reference_print(&c->names[i].reference, text);
		say(v, "name %s: there is no image %s", text, c->names[i].digest.hex);
		if (v->repairs && refs_remove(v->s, &c->names[i].reference, NULL) < 0)
			v->kept++;
	}
}

/* --- the verb ------------------------------------------------------------------ */

/* Images are checked last, after broken blobs and layers have been removed. */
static int verify_all(struct verifying *v, struct err *e)
{
	struct store_index c;

	if (store_index_take(v->s, &c, e) < 0)
		return -1;
	int rc = check_blobs(v, e);
	if (rc == 0)
		rc = check_layers(v, &c, e);
	if (rc == 0)
		rc = check_ranged(v, &c, e);
	if (rc == 0) {
		check_images(v, &c);
		check_names(v, &c);
	}
	store_index_done(&c);
	return rc;
}

static int verify(struct verifying *v, struct err *e)
{
	struct store s;

	if (store_open(&s, false, e) < 0)
		return e->kind == ERR_NOT_FOUND ? 0 : -1;
	v->s = &s;
	AUTO_CLOSE int lock = store_lock(&s, v->repairs, true, e);
	wait_line_start(&v->line, DOING);
	int rc = lock < 0 ? -1 : verify_all(v, e);
	wait_line_stop(&v->line);
	store_done(&s);
	return rc;
}

int image_verify_main(char **argv)
{
	struct verifying v = { 0 };
	const struct flag flags[] = {
		{ 0, "repair", NULL, "remove broken files", &v.repairs, NULL },
	};
	const struct usage usage = {
		.synopsis = "hutch image verify [--repair]",
		.about =
			"Looks whether all that is in the store is what it is called, and prints "
			"what\nis not.",
		.flags = flags,
		.count = ARRAY_LEN(flags),
	};
	struct err e;
	enum flags_result got = flags_begin(argv, &usage);

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	if (verify(&v, &e) < 0) {
		report_error(&e);
		return EXIT_HUTCH;
	}
	(void)printf("%zu blobs, %zu layers, %zu images, %zu names: ", v.blobs, v.layers,
		     v.images, v.names);
	if (!v.broken)
		(void)puts("all right");
	else
		(void)printf("%zu broken%s\n", v.broken,
			     !v.repairs ? ""
			     : v.kept	? ", not all of them removed"
					: ", removed");
	return v.broken && (!v.repairs || v.kept) ? EXIT_BROKEN : 0;
}
