#include "rootfs-tools/index/store_index.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "store/image_nearest.h"
#include "store/refs.h"
#include "store/store.h"

/* --- taking it ----------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int store_index_files(const struct store *s, const char *folder, struct list *ret,
		 struct err *e)
{
	int fd = store_folder(s, folder, e);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (fd < 0)
		return -1;
	if (!dir) {
		own_close(&fd);
		return err_sys(e, "read %s in the store", folder);
	}
	while ((entry = readdir(dir)))
		if (digest_is_hex(entry->d_name))
			list_add(ret, entry->d_name);
	(void)closedir(dir); /* close cannot lose data: the folder was only read */
	if (ret->count)
		qsort(ret->items, ret->count, sizeof(*ret->items), compare);
	return 0;
}

static void take_image(const struct store *s, const char *hex,
		       struct store_index_image *ret)
{
	AUTO_CLOSE int lock = -1;

	*ret = (struct store_index_image){ 0 };
	memcpy(ret->digest.hex, hex, sizeof(ret->digest.hex));
	launch_config_init(&ret->launch_config);
	ret->is_broken =
		launch_config_open(s, &ret->digest, &ret->launch_config, &lock, NULL) < 0;
}

static int compare_image(const void *key, const void *image)
{
	return strcmp(key, ((const struct store_index_image *)image)->digest.hex);
}

static void take_name(void *context, const struct reference *r,
		      const struct digest *image)
{
	struct store_index *c = context;
	const struct store_index_image *at = NULL;

	if (c->image_count)
		at = bsearch(image->hex, c->images, c->image_count, sizeof(*at),
			     compare_image);
	if (c->name_count % 64 == 0)
		c->names = mem_resize(c->names, c->name_count + 64, sizeof(*c->names));
	c->names[c->name_count++] = (struct store_index_name){
		.reference = *r, .image = at ? (size_t)(at - c->images) : SIZE_MAX,
		.digest = *image,
	};
}

int store_index_take(const struct store *s, struct store_index *ret, struct err *e)
{
	struct list files = { 0 };
	struct store_index c = { 0 };

	if (store_index_files(s, STORE_IMAGES, &files, e) < 0)
		return -1;
	c.images = mem_zeroed(files.count, sizeof(*c.images));
	for (; c.image_count < files.count; c.image_count++)
		take_image(s, files.items[c.image_count], &c.images[c.image_count]);
	list_done(&files);
	if (refs_each(s, take_name, &c, e) < 0) {
		store_index_done(&c);
		return -1;
	}
	*ret = c;
	return 0;
}

void store_index_done(struct store_index *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->image_count; i++)
		launch_config_done(&c->images[i].launch_config);
	free(c->images);
	free(c->names);
	*c = (struct store_index){ 0 };
}

/* --- finding ------------------------------------------------------------------- */

static bool find_name(const struct store_index *c, const char *text, size_t *ret_image,
		      size_t *ret_name)
{
	struct reference r;
	char wanted[REFERENCE_MAX], is[REFERENCE_MAX];

	if (reference_parse(text, &r, NULL) < 0)
		return false;
	reference_print(&r, wanted);
	for (size_t i = 0; i < c->name_count; i++) {
		reference_print(&c->names[i].reference, is);
		if (strcmp(is, wanted) || c->names[i].image == SIZE_MAX)
			continue;
		*ret_image = c->names[i].image;
		*ret_name = i;
		return true;
	}
	return false;
}

/* Returns how many images have an id or digest that begins with `hex`; *ret is the
 * last of these images. */
static size_t find_hex(const struct store_index *c, const char *hex, size_t *ret)
{
	size_t found = 0, len = strlen(hex);

	for (size_t i = 0; i < c->image_count; i++) {
		const struct store_index_image *image = &c->images[i];
		if (strncmp(image->digest.hex, hex, len) &&
		    strncmp(image->launch_config.config.hex, hex, len))
			continue;
		*ret = i;
		found++;
	}
	return found;
}

int store_index_find(const struct store_index *c, const char *text, size_t *ret_image,
		size_t *ret_name, struct err *e)
{
	const char *hex = strncmp(text, "sha256:", 7) ? text : text + 7;
	size_t len = strspn(hex, "0123456789abcdef"), found = 0;
	struct image_nearest near;
	struct reference r;

	if (find_name(c, text, ret_image, ret_name))
		return 0;
	*ret_name = SIZE_MAX;
	bool is_hex = len >= 4 && len <= DIGEST_HEX && !hex[len];
	if (is_hex)
		found = find_hex(c, hex, ret_image);
	if (found == 1)
		return 0;
	if (found > 1)
		return err_set(e, ERR_USAGE, "%zu images have an id that begins with %s",
			       found, hex);
	if (!is_hex && reference_parse(text, &r, e) < 0)
		return -1;
	(void)err_set(e, ERR_NOT_FOUND, "there is no image '%.200s' in the store", text);
	image_nearest_init(&near, text);
	for (size_t i = 0; i < c->name_count; i++)
		image_nearest_try(&near, &c->names[i].reference);
	(void)image_nearest_suggest(&near, e);
	return err_remedy(e, "hutch image ls lists what is there");
}

int store_index_resolve(const struct store *s, const char *text, struct digest *ret,
		   struct reference *ret_name, struct err *e)
{
	struct store_index c;
	size_t image, name;

	if (store_index_take(s, &c, e) < 0)
		return -1;
	int rc = store_index_find(&c, text, &image, &name, e);
	if (rc == 0)
		*ret = c.images[image].digest;
	if (rc == 0 && ret_name)
		*ret_name = name == SIZE_MAX ? (struct reference){ .registry = "" }
					     : c.names[name].reference;
	store_index_done(&c);
	return rc;
}
