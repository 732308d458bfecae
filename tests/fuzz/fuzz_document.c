/* The documents of an image, from an untrusted registry or archive.  The first
 * byte selects the kind of document.  The document is refused with an error
 * text, or its values are within bounds; and an accepted configuration becomes a
 * recipe that can be read again, or is too large for one.  The text is copied
 * to its exact size, so that a read beyond it is noticed. */
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/err.h"
#include "rootfs-tools/index/document.h"
#include "store/launch_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void claim(int is_so)
{
	if (!is_so)
		abort();
}

static void read_kind(const char *text, size_t len, struct err *e)
{
	enum document_kind kind = DOCUMENT_INDEX;
	struct manifest m = { 0 };

	int rc = document_kind(text, len, NULL, &kind, e);
	/* manifest_parse() accepts only documents that document_kind() calls
	 * manifests. */
	if (manifest_parse(text, len, &m, NULL) == 0)
		claim(rc == 0 && kind == DOCUMENT_MANIFEST);
	manifest_done(&m);
}

static void read_manifest(const char *text, size_t len, struct err *e)
{
	struct manifest m = { 0 };

	if (manifest_parse(text, len, &m, e) < 0) {
		claim(!m.layers && !m.layer_count);
		return;
	}
	claim(m.layer_count <= IMAGE_LAYERS_MAX && digest_is_hex(m.config.digest.hex));
	for (size_t i = 0; i < m.layer_count; i++)
		claim(digest_is_hex(m.layers[i].digest.hex));
	manifest_done(&m);
}

static void read_index(const char *text, size_t len, struct err *e)
{
	char name[REFERENCE_MAX];
	struct descriptor d;

	if (index_choose(text, len, NULL, &d, e) == 0)
		claim(digest_is_hex(d.digest.hex));
	if (index_choose_named(text, len, "1", name, &d, NULL) == 0)
		claim(digest_is_hex(d.digest.hex) && strlen(name) < sizeof(name));
}

static void read_config(const char *text, size_t len, struct err *e)
{
	struct list ids = { 0 };
	struct launch_config r;
	struct buffer b;
	struct err why = { 0 };

	launch_config_init(&r);
	buffer_init(&b, LAUNCH_CONFIG_MAX);
	if (config_parse(text, len, &r, &ids, e) == 0 &&
	    launch_config_print(&r, &b, &why) < 0)
		claim(why.kind == ERR_LIMIT);
	claim(ids.count <= IMAGE_LAYERS_MAX);
	buffer_done(&b);
	list_done(&ids);
	launch_config_done(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const ways[])(const char *, size_t, struct err *) = {
		read_kind, read_manifest, read_index, read_config,
	};
	struct err e = { 0 };

	if (!size)
		return 0;
	size_t len = size - 1;
	char *text = malloc(len ? len : 1);
	claim(text != NULL);
	memcpy(text, data + 1, len);
	ways[data[0] % 4](text, len, &e);
	claim(e.kind == ERR_NONE || e.text[0]);
	free(text);
	return 0;
}
