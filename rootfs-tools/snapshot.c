#include "rootfs-tools/snapshot.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "archive/outcome.h"
#include "base/err.h"
#include "base/note.h"
#include "base/own.h"
#include "base/wait_line.h"
#include "cli/common/client.h"
#include "rootfs-tools/build/image_config.h"
#include "rootfs-tools/changes/changes.h"
#include "rootfs-tools/changes/root_changes.h"
#include "rootfs-tools/index/images.h"
#include "rootfs-tools/layers/blobs.h"
#include "rootfs-tools/layers/layers.h"
#include "rootfs-tools/layers/quota.h"
#include "store/reference.h"
#include "store/refs.h"
#include "store/store.h"

#define HOST	   "localhost" /* the registry in names that hutch itself gives; no
			        * registry on the network has it */
#define NUMBER_MAX 999999u

/* The data that was read from a stopped sandbox, kept after the sandbox runs again. */
struct taken {
	struct blob *tar; /* owned: a tar of the files that the sandbox has written */
	struct digest image;
	struct outcome outcome;
	int has_ranges; /* 1: the files belong to several mapped ids, those in `ids` */
	struct idmaps ids;
};

/* --- the sandbox ------------------------------------------------------------------ */

static int take_answer(struct client *c, struct json_view answer, struct taken *t,
		       struct err *e)
{
	AUTO_FREE char *hex = json_view_string(json_view_get(answer, "digest"));

	if (hex && digest_is_hex(hex)) {
		memcpy(t->image.hex, hex, sizeof(t->image.hex));
		return 0;
	}
	(void)err_set(e, ERR_UNSUPPORTED,
		      "sandbox '%s' was made of a folder, and a snapshot is "
		      "a layer over an image",
		      c->name);
	return err_remedy(
		e, "hutch image import FOLDER --name REF makes an image of it, for "
		   "sandboxes to come");
}

/* Stops the sandbox's processes and gets a descriptor of its upper layer. */
static int stop_and_get(struct client *c, struct taken *t, struct err *e)
{
	struct json_view answer;
	AUTO_CLOSE int upper = root_changes_ask(c, "snapshot", &answer, e);

	if (upper < 0 || take_answer(c, answer, t, e) < 0)
		return -1;
	t->has_ranges = root_changes_ids(answer, &t->ids, e);
	if (t->has_ranges < 0)
		return -1;
	return fd_take(&upper);
}

static void tell_left_out(const struct outcome *o)
{
	if (o->left_out)
		note_print("note: %llu left out, such as %s",
			   (unsigned long long)o->left_out, o->first);
}

static int write_tar(const struct store *s, struct client *c, struct taken *t,
		     struct err *e)
{
	const uint64_t room = quota_room(s);

	if (!room)
		return quota_is_full(s, e);
	if (blob_begin(s, NULL, &t->tar, e) < 0)
		return -1;
	AUTO_CLOSE int upper = stop_and_get(c, t, e);
	const struct changes changes = { .upper = upper, .out = blob_file(t->tar),
					 .max = room,
					 .ranges = t->has_ranges ? &t->ids : NULL };
	if (upper < 0)
		return -1;
	if (changes_tar(&changes, &t->outcome, e) < 0)
		return e->sys == EFBIG && room < CHANGES_MAX ? quota_is_full(s, e) : -1;
	return 0;
}

/* Stops the sandbox, reads its files and closes the connection.  The sandbox goes on
 * when the connection is closed, even after a failure here. */
static int read_sandbox(const struct store *s, const char *name, struct taken *t,
			struct err *e)
{
	struct client c;

	if (client_open(&c, name, e) < 0)
		return -1;
	int rc = write_tar(s, &c, t, e);
	client_done(&c);
	return rc;
}

/* --- the image -------------------------------------------------------------------- */

static int add_layer(const struct store *s, const struct taken *t,
		     struct image_config *config, struct err *e)
{
	/* The tar is not compressed, so its digest is the blob's.  It is hashed while it
	 * is unpacked. */
	const struct layer_limits limits = { .is_plain = true };
	struct digest layer;

	if (layers_unpack(s, blob_file(t->tar), NULL, &limits, &layer, NULL, e) < 0 ||
	    blob_commit_as(t->tar, &layer, e) < 0)
		return -1;
	list_add(&config->layers, layer.hex);
	list_add(&config->diff_ids, layer.hex);
	return 0;
}

static int make_image(const struct store *s, const struct snapshot *what,
		      const struct taken *t, struct digest *ret, struct err *e)
{
	struct image_config config;

	*ret = t->image;
	if (!t->outcome.entries)
		return 0;
	image_config_init(&config);
	int rc = image_config_read(s, &t->image, &config, e);
	if (rc == 0)
		rc = add_layer(s, t, &config, e);
	if (rc == 0) {
		AUTO_FREE char *history = text_format("hutch snapshot%s%s",
						      what->message ? ": " : "",
						      what->message ? what->message : "");
		image_config_touch(&config, time(NULL));
		image_config_add_history(&config, history, true);
		AUTO_FREE char *text = image_config_print(&config);
		rc = images_make(s, text, &config.layers, &config.diff_ids, NULL, ret, e);
	}
	image_config_done(&config);
	return rc;
}

/* --- its name --------------------------------------------------------------------- */

static int begin_name(const char *sandbox, struct reference *ret, struct err *e)
{
	AUTO_FREE char *text = text_format(HOST "/%s", sandbox);

	for (char *at = text; *at; at++)
		*at = (char)tolower((unsigned char)*at);
	if (reference_parse(text, ret, e) == 0)
		return 0;
	(void)err_set(e, ERR_USAGE, "'%s' cannot be in the name of an image", sandbox);
	return err_remedy(e, "give the name: hutch snapshot %s REF", sandbox);
}

struct highest {
	const struct reference *like;
	unsigned number;
};

static void look(void *context, const struct reference *r, const struct digest *image)
{
	struct highest *h = context;
	size_t digits = strspn(r->tag, "0123456789");

	(void)image;
	if (!digits || digits > 6 || r->tag[digits] ||
	    strcmp(r->registry, h->like->registry) ||
	    strcmp(r->repository, h->like->repository))
		return;
	unsigned number = (unsigned)strtoul(r->tag, NULL, 10);
	h->number = number > h->number ? number : h->number;
}

/* Gives the image the next free number as its tag.  If another process takes that
 * number first, the number after it is tried. */
static int give_number(const struct store *s, struct reference *r,
		       const struct digest *image, struct err *e)
{
	struct highest h = { .like = r };

	if (refs_each(s, look, &h, e) < 0)
		return -1;
	while (h.number++ < NUMBER_MAX) {
		(void)snprintf(r->tag, sizeof(r->tag), "%u", h.number);
		if (refs_add(s, r, image, e) == 0)
			return 0;
		if (e->sys != EEXIST)
			return -1;
	}
	return err_set(e, ERR_LIMIT, "there are too many snapshots of this name");
}

int snapshot_take(const struct store *s, const struct snapshot *what,
		  const struct reference *r, struct reference *ret_name, struct err *e)
{
	AUTO_FREE char *doing =
		text_format("taking a snapshot of sandbox '%s'", what->sandbox);
	struct taken t = { 0 };
	struct wait_line line;
	struct digest image;
	AUTO_CLOSE int lock = -1;

	if (r)
		*ret_name = *r;
	else if (begin_name(what->sandbox, ret_name, e) < 0)
		return -1;
	lock = store_lock(s, false, true, e);
	if (lock < 0)
		return -1;
	wait_line_start(&line, doing);
	int rc = read_sandbox(s, what->sandbox, &t, e);
	if (rc == 0)
		rc = make_image(s, what, &t, &image, e);
	wait_line_stop(&line);
	blob_done(t.tar);
	tell_left_out(&t.outcome);
	if (rc < 0)
		return -1;
	return r ? refs_put(s, r, &image, e) : give_number(s, ret_name, &image, e);
}
