/* document -- parses an image's JSON documents, for images.h and its callers. */
#pragma once
#include "rootfs-tools/index/images.h"
#include "store/reference.h"

struct err;
struct json_at;
struct list;
struct launch_config;

/* Parses an image's configuration (image-spec/config.md): fills the recipe
 * except its layers, its size and the configuration's own digest, and adds the
 * digests of the layers' tars, hexadecimal, lowest first.  Added digests stay
 * in the list after a failure. */
int config_parse(const char *text, size_t len, struct launch_config *r,
		 struct list *diff_ids, struct err *e);

/* Annotations with the name of an entry in an OCI layout's index: the first one mostly
 * has only a tag, the second one a whole reference. */
#define INDEX_NAME	 "org.opencontainers.image.ref.name"
#define INDEX_WHOLE_NAME "io.containerd.image.name"

/* Chooses from an index, like index_choose() for this machine, among the entries that
 * are called `tag` or end in ":TAG".  With `tag` NULL, chooses among all entries,
 * which then must have the same name or none.  *ret_name is the chosen entry's name,
 * or "". */
int index_choose_named(const char *text, size_t len, const char *tag,
		       char ret_name[REFERENCE_MAX], struct descriptor *ret,
		       struct err *e);

/* --- for the readers of documents --- */

enum role { ROLE_MANIFEST, ROLE_INDEX, ROLE_OLD, ROLE_CONFIG, ROLE_LAYER, ROLE_ELSEWHERE,
	    ROLE_UNKNOWN };

/* Reads a configuration like config_parse(), from a parsed document, for a caller that
 * needs more of the document. */
int config_read(const struct json_at *root, struct launch_config *r,
		struct list *diff_ids, struct err *e);

/* config_text() gives the text of a member, valid as long as the document; NULL where
 * the member is absent, null or empty.  config_texts() adds the texts of an array. */
int config_text(const struct json_at *of, const char *key, const char **ret,
		struct err *e);
int config_texts(const struct json_at *of, const char *key, struct list *ret,
		 struct err *e);

/* Returns the role of a media type; parameters after the type, as in an HTTP header,
 * are ignored. */
enum role document_role(const char *media_type);

int document_kind_of(const struct json_at *root, const char *media_type,
		     enum document_kind *ret, struct err *e);

/* Finds a member that must exist; a missing member is an error. */
int document_need(const struct json_at *of, const char *key, struct json_at *ret,
		  struct err *e);
int document_descriptor(const struct json_at *at, struct descriptor *ret, struct err *e);
