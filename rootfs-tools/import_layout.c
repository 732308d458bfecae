/* Imports OCI layouts, and archives of docker save. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "policy/json/json.h"
#include "rootfs-tools/import.h"
#include "rootfs-tools/index/document.h"
#include "rootfs-tools/layers/blobs.h"
#include "rootfs-tools/layers/hash.h"
#include "rootfs-tools/source.h"
#include "store/launch_config.h"
#include "store/reference.h"
#include "store/store.h"

#define LAYOUT	   "oci-layout"
#define INDEX	   "index.json"
#define SAVED	   "manifest.json"
#define BLOBS	   "blobs/sha256/"
#define INDEX_DEEP 4

/* --- whose paths these are ----------------------------------------------------- */

static bool ends_in(const char *text, const char *end)
{
	size_t len = strlen(text), more = strlen(end);

	return len >= more && !strcmp(text + len - more, end);
}

/* Returns whether the path has one of the forms "HEX", "HEX/VERSION", "HEX/layer.tar",
 * "HEX/json" and "HEX.json", which docker save has used. */
static bool is_of_hex(const char *path)
{
	const char *rest = path + strspn(path, "0123456789abcdef");

	return rest == path + DIGEST_HEX && (!*rest || !strcmp(rest, ".json") ||
					     (*rest == '/' && !strchr(rest + 1, '/')));
}

bool import_is_part(const char *path)
{
	static const char *const whole[] = {
		LAYOUT, INDEX, SAVED, "repositories", "blobs", "blobs/", "blobs/sha256",
		BLOBS,	"",    "."
	};

	while (path[0] == '.' && path[1] == '/')
		path += 2;
	for (size_t i = 0; i < ARRAY_LEN(whole); i++)
		if (!strcmp(path, whole[i]))
			return true;
	if (!strncmp(path, BLOBS, strlen(BLOBS)))
		return !strchr(path + strlen(BLOBS), '/');
	/* skopeo writes layers as "HEX.tar" at the top. */
	return is_of_hex(path) || (ends_in(path, ".tar") && !strchr(path, '/'));
}

bool import_is_layout(const struct source *from)
{
	return source_has(from, LAYOUT) && source_has(from, INDEX);
}

int import_name(const struct import *i, const char *says, struct err *e)
{
	/* A tag such as "latest" alone is no whole reference. */
	bool is_whole = says && (strchr(says, '/') || strchr(says, ':'));

	if (i->name) {
		*i->called = *i->name;
		return 0;
	}
	if (is_whole && reference_parse_name(says, i->called, NULL) == 0)
		return 0;
	(void)err_set(e, ERR_USAGE, "it has no name in it");
	return err_remedy(e, "--name REF");
}

/* --- OCI layout ---------------------------------------------------------------- */

static char *path_of(const struct digest *d)
{
	return text_format(BLOBS "%s", d->hex);
}

static int read_document(const struct source *from, const struct descriptor *d,
			 char **ret, size_t *ret_len, struct err *e)
{
	AUTO_FREE char *path = path_of(&d->digest);
	struct digest is;

	if (source_read(from, path, MANIFEST_MAX, ret, ret_len, e) < 0)
		return -1;
	hash_bytes(*ret, *ret_len, &is);
	if (digest_equal(&is, &d->digest) && *ret_len == d->size)
		return 0;
	own_free(ret);
	return err_set(e, ERR_REFUSED, "%s is damaged: it must have %llu bytes with that "
				       "digest", path, (unsigned long long)d->size);
}

static int copy_blob(const struct import *i, const struct source *from,
		     const struct descriptor *d, struct err *e)
{
	AUTO_FREE char *path = path_of(&d->digest);
	struct blob *b = NULL;

	if (blob_begin(i->store, &d->digest, &b, e) < 0)
		return -1;
	if (!b)
		return 0;
	/* Reads one byte more than the size says, to notice a blob that is too long. */
	int rc = source_copy(from, path, d->size + 1, b, e);
	if (rc == 0)
		rc = blob_commit(b, d->size, NULL, e);
	blob_done(b);
	return rc;
}

/* Chooses the manifest for this machine from an index. */
static int descend(const struct source *from, struct descriptor *d, struct err *e)
{
	for (int deep = 0; deep < INDEX_DEEP; deep++) {
		AUTO_FREE char *text = NULL;
		enum document_kind kind;
		size_t len;
		if (read_document(from, d, &text, &len, e) < 0 ||
		    document_kind(text, len, d->media_type, &kind, e) < 0)
			return -1;
		if (kind == DOCUMENT_MANIFEST)
			return 0;
		if (index_choose(text, len, NULL, d, e) < 0)
			return -1;
	}
	return err_set(e, ERR_LIMIT, "there are more than %d indexes in one another",
		       INDEX_DEEP);
}

static int copy_image(const struct import *i, const struct source *from,
		      const struct descriptor *d, struct err *e)
{
	AUTO_FREE char *text = NULL;
	struct manifest m = { 0 };
	size_t len;

	if (read_document(from, d, &text, &len, e) < 0 ||
	    manifest_parse(text, len, &m, e) < 0)
		return -1;
	int rc = copy_blob(i, from, &m.config, e);
	for (size_t at = 0; at < m.layer_count && rc == 0; at++)
		rc = copy_blob(i, from, &m.layers[at], e);
	manifest_done(&m);
	return rc < 0 ? -1 : copy_blob(i, from, d, e);
}

int import_layout(const struct import *i, const struct source *from, struct err *e)
{
	AUTO_FREE char *text = NULL;
	char says[REFERENCE_MAX];
	struct descriptor d;
	size_t len;

	if (source_read(from, INDEX, MANIFEST_MAX, &text, &len, e) < 0 ||
	    index_choose_named(text, len, i->tag, says, &d, e) < 0 ||
	    import_name(i, says, e) < 0 || descend(from, &d, e) < 0 ||
	    copy_image(i, from, &d, e) < 0)
		return -1;
	return images_finish(i->store, &d.digest, i->called, e);
}

/* --- docker save --------------------------------------------------------------- */

/* An entry of manifest.json. */
struct saved {
	struct json_at config, tags, layers;
	bool has_tags;
};

static int saved_read(const struct json_at *at, struct saved *ret, struct err *e)
{
	*ret = (struct saved){ 0 };
	if (document_need(at, "Config", &ret->config, e) < 0 ||
	    document_need(at, "Layers", &ret->layers, e) < 0 ||
	    json_expect(&ret->config, JSON_STRING, e) < 0 ||
	    json_expect(&ret->layers, JSON_ARRAY, e) < 0)
		return -1;
	ret->has_tags = json_member(at, "RepoTags", &ret->tags);
	return ret->has_tags ? json_expect(&ret->tags, JSON_ARRAY, e) : 0;
}

/* Returns whether two references mean one image: "me/tool" and
 * "docker.io/me/tool:latest". */
static bool is_same(const char *a, const char *b)
{
	char as[REFERENCE_MAX], bs[REFERENCE_MAX];
	struct reference r;

	if (reference_parse(a, &r, NULL) < 0)
		return false;
	reference_print(&r, as);
	if (reference_parse(b, &r, NULL) < 0)
		return false;
	reference_print(&r, bs);
	return !strcmp(as, bs);
}

/* Finds the image's name: the one that equals the tag or ends in ":TAG"; without a tag
 * the first name. */
static int saved_name(const struct saved *s, const char *tag, const char **ret,
		      struct err *e)
{
	struct json_at at = { 0 };
	const char *name;

	*ret = NULL;
	while (s->has_tags && json_step(&s->tags, &at)) {
		if (json_string(&at, &name, e) < 0)
			return -1;
		const char *colon = strrchr(name, ':');
		if (!tag || (colon && !strcmp(colon + 1, tag)) || is_same(name, tag)) {
			*ret = name;
			return 0;
		}
	}
	return 0;
}

static int saved_choose(const struct json_at *root, const char *tag, struct saved *ret,
			const char **ret_name, struct err *e)
{
	struct json_at at = { 0 };
	struct saved one;
	const char *name;
	size_t found = 0;

	if (json_expect(root, JSON_ARRAY, e) < 0)
		return -1;
	while (json_step(root, &at)) {
		if (saved_read(&at, &one, e) < 0 || saved_name(&one, tag, &name, e) < 0)
			return -1;
		if (tag && !name)
			continue;
		*ret = one;
		*ret_name = name;
		found++;
	}
	if (found == 1)
		return 0;
	if (!found)
		return err_set(e, ERR_NOT_FOUND, "there is no image '%.100s' in it",
			       tag ? tag : "");
	(void)err_set(e, ERR_USAGE, "there are %zu such images in it", found);
	return err_remedy(e, "PATH:TAG takes one of them");
}

/* Adds a layer's file to the store as a blob.  The file may be a plain or a compressed
 * tar. */
static int saved_layer(const struct import *i, const struct source *from,
		       const struct json_at *at, struct list *ret, struct err *e)
{
	struct blob *b = NULL;
	struct digest d;
	const char *path;

	if (json_string(at, &path, e) < 0 || blob_begin(i->store, NULL, &b, e) < 0)
		return -1;
	int rc = source_copy(from, path, UINT64_MAX, b, e);
	if (rc == 0)
		rc = blob_commit(b, UINT64_MAX, &d, e);
	blob_done(b);
	if (rc == 0)
		list_add(ret, d.hex);
	return rc;
}

static int saved_layers(const struct import *i, const struct source *from,
			const struct saved *s, struct list *ret, struct err *e)
{
	struct json_at at = { 0 };

	while (json_step(&s->layers, &at)) {
		if (ret->count == IMAGE_LAYERS_MAX)
			return err_set(e, ERR_LIMIT, "the image has more than %d layers",
				       IMAGE_LAYERS_MAX);
		if (saved_layer(i, from, &at, ret, e) < 0)
			return -1;
	}
	return 0;
}

static int saved_finish(const struct import *i, const struct source *from,
			const struct saved *s, struct err *e)
{
	AUTO_FREE char *config = NULL;
	struct list layers = { 0 };
	const char *path;
	size_t len;

	if (json_string(&s->config, &path, e) < 0 ||
	    source_read(from, path, CONFIG_MAX, &config, &len, e) < 0)
		return -1;
	int rc = saved_layers(i, from, s, &layers, e);
	if (rc == 0)
		rc = images_assemble(i->store, config, len, &layers, i->called, NULL, e);
	list_done(&layers);
	return rc;
}

int import_saved(const struct import *i, const struct source *from, struct err *e)
{
	AUTO_FREE char *text = NULL;
	struct json_at root;
	struct saved one;
	const char *says = NULL;
	size_t len;

	if (source_read(from, SAVED, MANIFEST_MAX, &text, &len, e) < 0)
		return -1;
	AUTO_JSON struct json *doc = json_parse(text, len, e);
	if (!doc)
		return err_in(e, SAVED);
	json_root(doc, SAVED, &root);
	if (saved_choose(&root, i->tag, &one, &says, e) < 0 ||
	    import_name(i, says, e) < 0)
		return -1;
	return saved_finish(i, from, &one, e);
}
