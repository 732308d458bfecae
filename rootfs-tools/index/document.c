/* Implements a part of document.h and images.h: parses manifests, and finds out what
 * kind a document is. */
#include "rootfs-tools/index/document.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/json/json.h"

#define OCI    "application/vnd.oci.image."
#define DOCKER "application/vnd.docker."

/* --- what there is ------------------------------------------------------------- */

static const struct {
	const char *media_type;
	enum role role;
} media_types[] = {
	{ OCI "manifest.v1+json", ROLE_MANIFEST },
	{ DOCKER "distribution.manifest.v2+json", ROLE_MANIFEST },
	{ OCI "index.v1+json", ROLE_INDEX },
	{ DOCKER "distribution.manifest.list.v2+json", ROLE_INDEX },
	{ DOCKER "distribution.manifest.v1+json", ROLE_OLD },
	{ DOCKER "distribution.manifest.v1+prettyjws", ROLE_OLD },
	{ OCI "config.v1+json", ROLE_CONFIG },
	{ DOCKER "container.image.v1+json", ROLE_CONFIG },
	{ OCI "layer.v1.tar", ROLE_LAYER },
	{ OCI "layer.v1.tar+gzip", ROLE_LAYER },
	{ OCI "layer.v1.tar+zstd", ROLE_LAYER },
	{ DOCKER "image.rootfs.diff.tar", ROLE_LAYER },
	{ DOCKER "image.rootfs.diff.tar.gzip", ROLE_LAYER },
	{ DOCKER "image.rootfs.diff.tar.zstd", ROLE_LAYER },
	{ OCI "layer.nondistributable.v1.tar", ROLE_ELSEWHERE },
	{ OCI "layer.nondistributable.v1.tar+gzip", ROLE_ELSEWHERE },
	{ OCI "layer.nondistributable.v1.tar+zstd", ROLE_ELSEWHERE },
	{ DOCKER "image.rootfs.foreign.diff.tar", ROLE_ELSEWHERE },
	{ DOCKER "image.rootfs.foreign.diff.tar.gzip", ROLE_ELSEWHERE },
};

enum role document_role(const char *media_type)
{
	size_t len = strcspn(media_type, "; ");

	for (size_t i = 0; i < ARRAY_LEN(media_types); i++)
		if (strlen(media_types[i].media_type) == len &&
		    !strncmp(media_types[i].media_type, media_type, len))
			return media_types[i].role;
	return ROLE_UNKNOWN;
}

static int old_schema(struct err *e)
{
	(void)err_set(e, ERR_UNSUPPORTED,
		      "the manifest is of docker's schema 1, whose layers "
		      "cannot be checked");
	return err_remedy(e,
			  "push the image again with a docker or skopeo of this decade");
}

/* --- manifest or index --------------------------------------------------------- */

static int check_schema(const struct json_at *root, struct err *e)
{
	struct json_at at = { 0 };
	uint64_t version;

	if (json_expect(root, JSON_OBJECT, e) < 0)
		return -1;
	if (!json_member(root, "schemaVersion", &at))
		return err_set(e, ERR_PROTOCOL,
			       "the document has no schemaVersion: it is no "
			       "manifest and no index");
	if (json_uint(&at, &version, e) < 0)
		return -1;
	if (version == 1)
		return old_schema(e);
	return version == 2 ? 0
			    : err_set(e, ERR_UNSUPPORTED,
				      "the document's schemaVersion is "
				      "%llu, and 2 is known",
				      (unsigned long long)version);
}

/* Finds the kind of a document by its members.  A document that looks like both a
 * manifest and an index is refused: two readers would see two images in it
 * (CVE-2021-41190). */
static int kind_by_content(const struct json_at *root, enum document_kind *ret,
			   struct err *e)
{
	struct json_at at;
	bool is_index = json_member(root, "manifests", &at);
	bool is_manifest = json_member(root, "layers", &at) ||
			   json_member(root, "config", &at);

	if (is_index && is_manifest)
		return err_set(e, ERR_REFUSED,
			       "the document says that it is both a manifest and "
			       "an index");
	if (!is_index && json_member(root, "fsLayers", &at))
		return old_schema(e);
	if (!is_index && !is_manifest)
		return err_set(e, ERR_PROTOCOL,
			       "the document is neither a manifest nor an index");
	*ret = is_index ? DOCUMENT_INDEX : DOCUMENT_MANIFEST;
	return 0;
}

static int agree(const char *media_type, enum document_kind kind, struct err *e)
{
	enum role role = document_role(media_type);

	if (role == ROLE_OLD)
		return old_schema(e);
	if (role != ROLE_MANIFEST && role != ROLE_INDEX)
		return err_set(e, ERR_UNSUPPORTED,
			       "'%.100s' is no media type of a manifest or an "
			       "index",
			       media_type);
	if ((role == ROLE_INDEX) == (kind == DOCUMENT_INDEX))
		return 0;
	return err_set(e, ERR_REFUSED,
		       "the document is %s, and its media type says otherwise: "
		       "%.100s",
		       kind == DOCUMENT_INDEX ? "an index" : "a manifest", media_type);
}

int document_kind_of(const struct json_at *root, const char *media_type,
		     enum document_kind *ret, struct err *e)
{
	struct json_at at = { 0 };
	const char *own = NULL;

	if (check_schema(root, e) < 0 || kind_by_content(root, ret, e) < 0)
		return -1;
	if (json_member(root, "mediaType", &at) &&
	    (json_string(&at, &own, e) < 0 || agree(own, *ret, e) < 0))
		return -1;
	return media_type ? agree(media_type, *ret, e) : 0;
}

int document_kind(const char *text, size_t len, const char *media_type,
		  enum document_kind *ret, struct err *e)
{
	AUTO_JSON struct json *doc = json_parse(text, len, e);
	struct json_at root;
	enum document_kind kind;

	if (!doc)
		return err_in(e, "the manifest");
	json_root(doc, "manifest", &root);
	if (document_kind_of(&root, media_type, &kind, e) < 0)
		return -1;
	*ret = kind;
	return 0;
}

/* --- descriptors --------------------------------------------------------------- */

int document_need(const struct json_at *of, const char *key, struct json_at *ret,
		  struct err *e)
{
	*ret = (struct json_at){ 0 };
	if (json_expect(of, JSON_OBJECT, e) < 0)
		return -1;
	return json_member(of, key, ret) ? 0 :
	       err_set(e, ERR_PROTOCOL, "%s has no %s", of->place, key);
}

static int get_string(const struct json_at *of, const char *key, const char **ret,
		      struct err *e)
{
	struct json_at at;

	return document_need(of, key, &at, e) < 0 ? -1 : json_string(&at, ret, e);
}

int document_descriptor(const struct json_at *at, struct descriptor *ret, struct err *e)
{
	const char *media_type, *digest;
	struct json_at size;

	if (get_string(at, "mediaType", &media_type, e) < 0 ||
	    get_string(at, "digest", &digest, e) < 0 ||
	    document_need(at, "size", &size, e) < 0 ||
	    json_uint(&size, &ret->size, e) < 0)
		return -1;
	if (strlen(media_type) >= sizeof(ret->media_type))
		return err_set(e, ERR_PROTOCOL,
			       "%s.mediaType is longer than any that is known",
			       at->place);
	(void)snprintf(ret->media_type, sizeof(ret->media_type), "%s", media_type);
	return digest_parse(digest, &ret->digest, e) < 0 ? err_in(e, "%s", at->place) : 0;
}

static int check_role(const struct json_at *at, const struct descriptor *d,
		      enum role wanted, struct err *e)
{
	enum role role = document_role(d->media_type);

	if (role == wanted)
		return 0;
	if (role == ROLE_ELSEWHERE)
		return err_set(e, ERR_UNSUPPORTED,
			       "%s may not be distributed with the image (%s), "
			       "and hutch gets nothing from elsewhere",
			       at->place, d->media_type);
	return err_set(e, ERR_UNSUPPORTED,
		       "%s is of the media type '%s', which is none of %s", at->place,
		       d->media_type,
		       wanted == ROLE_CONFIG ? "a configuration of an image" : "a layer");
}

/* --- manifest ------------------------------------------------------------------ */

static int read_layers(const struct json_at *layers, struct manifest *ret, struct err *e)
{
	struct json_at at = { 0 };

	if (json_expect(layers, JSON_ARRAY, e) < 0)
		return -1;
	ret->layers = mem_zeroed(IMAGE_LAYERS_MAX, sizeof(*ret->layers));
	while (json_step(layers, &at)) {
		if (ret->layer_count == IMAGE_LAYERS_MAX)
			return err_set(e, ERR_LIMIT,
				       "the image has more than %d layers, which "
				       "no kernel takes",
				       IMAGE_LAYERS_MAX);
		struct descriptor *d = &ret->layers[ret->layer_count];
		if (document_descriptor(&at, d, e) < 0 ||
		    check_role(&at, d, ROLE_LAYER, e) < 0)
			return -1;
		ret->layer_count++;
	}
	return 0;
}

static int manifest_read(const struct json_at *root, struct manifest *ret, struct err *e)
{
	enum document_kind kind;
	struct json_at at;

	if (document_kind_of(root, NULL, &kind, e) < 0)
		return -1;
	if (kind != DOCUMENT_MANIFEST)
		return err_set(e, ERR_PROTOCOL,
			       "it is an index, where a manifest has to be");
	if (document_need(root, "config", &at, e) < 0 ||
	    document_descriptor(&at, &ret->config, e) < 0 ||
	    check_role(&at, &ret->config, ROLE_CONFIG, e) < 0)
		return -1;
	if (ret->config.size > CONFIG_MAX)
		return err_set(e, ERR_LIMIT,
			       "the image's configuration has %llu bytes, more than "
			       "%u",
			       (unsigned long long)ret->config.size, CONFIG_MAX);
	return document_need(root, "layers", &at, e) < 0 ? -1 : read_layers(&at, ret, e);
}

int manifest_parse(const char *text, size_t len, struct manifest *ret, struct err *e)
{
	AUTO_JSON struct json *doc = json_parse(text, len, e);
	struct manifest m = { 0 };
	struct json_at root;

	if (!doc)
		return err_in(e, "the manifest");
	json_root(doc, "manifest", &root);
	if (manifest_read(&root, &m, e) < 0) {
		manifest_done(&m);
		return -1;
	}
	*ret = m;
	return 0;
}

void manifest_done(struct manifest *m)
{
	if (!m)
		return;
	free(m->layers);
	*m = (struct manifest){ 0 };
}
