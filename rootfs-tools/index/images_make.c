/* Makes the two documents of an image in the form that every OCI tool reads. 
 * Equal inputs give equal bytes, and so equal digests. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/json/json.h"
#include "rootfs-tools/index/images.h"
#include "rootfs-tools/layers/blobs.h"

#define OCI "application/vnd.oci.image."

/* --- text ---------------------------------------------------------------------- */

struct text {
	char *bytes; /* allocated by `to`; valid, and owned by the caller, after `to` is
		      * closed */
	size_t len;
	FILE *to;
};

static void text_open(struct text *t)
{
	t->to = mem_or_abort(open_memstream(&t->bytes, &t->len));
}

static void text_close(struct text *t)
{
	if (fclose(t->to) != 0)
		abort(); /* memory is out */
}

/* --- the configuration --------------------------------------------------------- */

static void print_rootfs(FILE *to, const struct list *diff_ids)
{
	(void)fprintf(to, "\"rootfs\":{\"type\":\"layers\",\"diff_ids\":[");
	for (size_t i = 0; i < diff_ids->count; i++)
		(void)fprintf(to, "%s\"sha256:%s\"", i ? "," : "", diff_ids->items[i]);
	(void)fprintf(to, "]}}");
}

/* Prints the given configuration's members unchanged, then those members that it
 * lacks. */
static void print_config(FILE *to, struct json_at *root, const struct list *diff_ids)
{
	struct json_at at = { 0 };
	struct platform here;
	const char *key;
	size_t len;

	platform_here(&here);
	(void)fprintf(to, "{");
	while (json_step_key(root, &at, &key)) {
		if (!strcmp(key, "rootfs"))
			continue;
		const char *value = json_source(&at, &len);
		AUTO_FREE char *name = json_write_quoted(key);
		(void)fprintf(to, "%s:%.*s,", name, (int)len, value);
	}
	if (!json_member(root, "architecture", &at))
		(void)fprintf(to, "\"architecture\":\"%s\",", here.architecture);
	if (!json_member(root, "os", &at))
		(void)fprintf(to, "\"os\":\"linux\",");
	print_rootfs(to, diff_ids);
}

static int make_config(const char *config, const struct list *diff_ids, struct text *ret,
		       struct err *e)
{
	const char *given = config ? config : "{}";
	AUTO_JSON struct json *doc = json_parse(given, strlen(given), e);
	struct json_at root;

	if (!doc)
		return err_in(e, "the image's configuration");
	json_root(doc, "configuration", &root);
	if (json_expect(&root, JSON_OBJECT, e) < 0)
		return -1;
	text_open(ret);
	print_config(ret->to, &root, diff_ids);
	text_close(ret);
	return 0;
}

/* --- the manifest -------------------------------------------------------------- */

/* Returns a layer's media type, by the blob's first bytes.  A blob of no known format
 * is taken for a tar; if it is none, unpacking fails. */
static const char *layer_type(int blob)
{
	static const struct {
		unsigned char bytes[4];
		size_t len;
		const char *type;
	} known[] = {
		{ { 0x1f, 0x8b }, 2, OCI "layer.v1.tar+gzip" },
		{ { 0x28, 0xb5, 0x2f, 0xfd }, 4, OCI "layer.v1.tar+zstd" },
	};
	unsigned char begin[4] = { 0 };

	ssize_t len = pread(blob, begin, sizeof(begin), 0);
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (len >= (ssize_t)known[i].len &&
		    !memcmp(begin, known[i].bytes, known[i].len))
			return known[i].type;
	return OCI "layer.v1.tar";
}

static int print_layer(FILE *to, const struct store *s, const char *hex, struct err *e)
{
	struct digest d;
	uint64_t size;

	memcpy(d.hex, hex, sizeof(d.hex));
	AUTO_CLOSE int blob = blobs_open(s, &d, e);
	if (blob < 0)
		return -1;
	if (!blobs_has(s, &d, &size))
		return err_set(e, ERR_NOT_FOUND, "blob %.12s is not in the store", hex);
	(void)fprintf(to, "{\"mediaType\":\"%s\",\"digest\":\"sha256:%s\",\"size\":%llu}",
		      layer_type(blob), hex, (unsigned long long)size);
	return 0;
}

static int make_manifest(const struct store *s, const struct digest *config, size_t size,
			 const struct list *layers, struct text *ret, struct err *e)
{
	int rc = 0;

	text_open(ret);
	(void)fprintf(ret->to,
		      "{\"schemaVersion\":2,\"mediaType\":\"" OCI "manifest.v1+json\","
		      "\"config\":{\"mediaType\":\"" OCI "config.v1+json\","
		      "\"digest\":\"sha256:%s\",\"size\":%zu},\"layers\":[",
		      config->hex, size);
	for (size_t i = 0; i < layers->count && rc == 0; i++) {
		(void)fputs(i ? "," : "", ret->to);
		rc = print_layer(ret->to, s, layers->items[i], e);
	}
	(void)fprintf(ret->to, "]}");
	text_close(ret);
	return rc;
}

/* --- both ---------------------------------------------------------------------- */

static int put_manifest(const struct store *s, const struct digest *config, size_t size,
			const struct list *layers, struct digest *ret, struct err *e)
{
	struct text t = { 0 };
	int rc = make_manifest(s, config, size, layers, &t, e);

	if (rc == 0)
		rc = blobs_put(s, t.bytes, t.len, ret, e);
	free(t.bytes);
	return rc;
}

int images_assemble(const struct store *s, const char *config, size_t len,
		    const struct list *layers, const struct reference *r,
		    struct digest *ret, struct err *e)
{
	struct digest d, manifest;

	if (blobs_put(s, config, len, &d, e) < 0 ||
	    put_manifest(s, &d, len, layers, &manifest, e) < 0 ||
	    images_finish(s, &manifest, r, e) < 0)
		return -1;
	if (ret)
		*ret = manifest;
	return 0;
}

int images_make(const struct store *s, const char *config,
		const struct list *layer_digests, const struct list *diff_ids,
		const struct reference *r, struct digest *ret, struct err *e)
{
	struct text t = { 0 };
	int rc = make_config(config, diff_ids, &t, e);

	if (rc == 0)
		rc = images_assemble(s, t.bytes, t.len, layer_digests, r, ret, e);
	free(t.bytes);
	return rc;
}
