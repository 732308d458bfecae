/* document -- what an image's documents say, beyond what images.h has. */
#pragma once
#include "rootfs-tools/images.h"
#include "store/reference.h"

struct err;
struct json_at;
struct list;
struct recipe;

/* An image's configuration (image-spec/config.md): fills the recipe but for its layers,
 * its size and the configuration's own digest, and adds the digests of the layers' tars,
 * hexadecimal, the lowest one first.  What it adds stays on failure. */
int config_parse(const char *text, size_t len, struct recipe *r, struct list *diff_ids,
		 struct err *e);

/* What the entries of a layout's index are called, by their annotations: a tag, mostly,
 * and a whole reference. */
#define INDEX_NAME	 "org.opencontainers.image.ref.name"
#define INDEX_WHOLE_NAME "io.containerd.image.name"

/* As index_choose() for this machine, but of those that are called `tag`, or end in
 * ":TAG".  NULL: of all, which then must have one name or none.  *ret_name is what it is
 * called, or "". */
int index_choose_named(const char *text, size_t len, const char *tag,
		       char ret_name[REFERENCE_MAX], struct descriptor *ret, struct err *e);

/* --- for the readers of documents --- */

enum role { ROLE_MANIFEST, ROLE_INDEX, ROLE_OLD, ROLE_CONFIG, ROLE_LAYER, ROLE_ELSEWHERE,
	    ROLE_UNKNOWN };

/* The same of a document that is parsed, for who wants more of it. */
int config_read(const struct json_at *root, struct recipe *r, struct list *diff_ids,
		struct err *e);

/* The text of a member, good as long as the document, or NULL where it is absent, null or
 * empty; and a list of texts, which are added. */
int config_text(const struct json_at *of, const char *key, const char **ret,
		struct err *e);
int config_texts(const struct json_at *of, const char *key, struct list *ret,
		 struct err *e);

/* What a media type stands for; what an HTTP header puts behind it is passed over. */
enum role document_role(const char *media_type);

int document_kind_of(const struct json_at *root, const char *media_type,
		     enum document_kind *ret, struct err *e);

/* A member that must be there. */
int document_need(const struct json_at *of, const char *key, struct json_at *ret,
		  struct err *e);
int document_descriptor(const struct json_at *at, struct descriptor *ret, struct err *e);
