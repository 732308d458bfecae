/* hutch image export: writes an image as an OCI layout, with a manifest.json
 * beside it so that docker load reads it, too; or its files as a folder. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/own.h"
#include "base/wait_line.h"
#include "cli/common/flags.h"
#include "cli/common/report.h"
#include "policy/json/json.h"
#include "rootfs-tools/export_root.h"
#include "rootfs-tools/index/document.h"
#include "rootfs-tools/index/store_index.h"
#include "rootfs-tools/layers/blobs.h"
#include "rootfs-tools/sink.h"
#include "rootfs-tools/verbs.h"
#include "sandbox/launch/result.h"
#include "store/rm_tree.h"
#include "store/store.h"

#define BLOBS	"blobs/sha256"
#define LAYOUT	"{\"imageLayoutVersion\":\"1.0.0\"}"
#define DEFAULT "application/vnd.oci.image.manifest.v1+json"

enum format { FORMAT_OCI, FORMAT_DOCKER, FORMAT_DIR };

struct export {
	const struct store *s;
	struct digest digest;
	struct manifest manifest; /* owned */
	char *media_type;	  /* owned */
	uint64_t size;		  /* the manifest's */
	char name[REFERENCE_MAX]; /* the image's name, or "" */
	char tag[sizeof(((struct reference *)0)->tag)]; /* the image's tag, or "" */
	enum format format;
};

/* --- what is written ----------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int put_blob(const struct export *x, const struct sink *to, const char *hex,
		    struct err *e)
{
	AUTO_FREE char *path = text_format(BLOBS "/%s", hex);
	struct digest d;
	struct stat st;

	memcpy(d.hex, hex, sizeof(d.hex));
	AUTO_CLOSE int from = blobs_open(x->s, &d, e);
	if (from < 0)
		return -1;
	if (fstat(from, &st) < 0)
		return err_sys(e, "stat blob %.12s", hex);
	return sink_blob(to, path, from, (uint64_t)st.st_size, &d, e);
}

/* Writes the blobs in the order of their digests, each once. */
static int put_blobs(const struct export *x, const struct sink *to, struct err *e)
{
	const struct manifest *m = &x->manifest;
	struct list all = { 0 };
	int rc = 0;

	list_add(&all, x->digest.hex);
	list_add(&all, m->config.digest.hex);
	for (size_t i = 0; i < m->layer_count; i++)
		list_add(&all, m->layers[i].digest.hex);
	qsort(all.items, all.count, sizeof(*all.items), compare);
	for (size_t i = 0; i < all.count && rc == 0; i++)
		if (!i || strcmp(all.items[i - 1], all.items[i]))
			rc = put_blob(x, to, all.items[i], e);
	list_done(&all);
	return rc;
}

static int put_index(const struct export *x, const struct sink *to, struct err *e)
{
	AUTO_FREE char *type = json_write_quoted(x->media_type);
	AUTO_FREE char *named = text_format(
		",\"annotations\":{\"" INDEX_WHOLE_NAME "\":\"%s\"%s%s%s}", x->name,
		x->tag[0] ? ",\"" INDEX_NAME "\":\"" : "", x->tag, x->tag[0] ? "\"" : "");
	AUTO_FREE char *text = text_format(
		"{\"schemaVersion\":2,\"mediaType\":\"application/vnd.oci.image."
		"index.v1+json\",\"manifests\":[{\"mediaType\":%s,\"digest\":"
		"\"sha256:%s\",\"size\":%llu%s}]}",
		type, x->digest.hex, (unsigned long long)x->size,
		x->name[0] ? named : "");

	return sink_text(to, "index.json", text, e);
}

/* Writes manifest.json as docker 25 and later do. */
static int put_saved(const struct export *x, const struct sink *to, struct err *e)
{
	AUTO_FREE char *text = text_format(
		"[{\"Config\":\"" BLOBS "/%s\",\"RepoTags\":[%s%s%s],\"Layers\":[",
		x->manifest.config.digest.hex, x->tag[0] ? "\"" : "",
		x->tag[0] ? x->name : "", x->tag[0] ? "\"" : "");

	for (size_t i = 0; i < x->manifest.layer_count; i++) {
		AUTO_FREE char *before = text;
		text = text_format("%s%s\"" BLOBS "/%s\"", before, i ? "," : "",
				   x->manifest.layers[i].digest.hex);
	}
	AUTO_FREE char *whole = text_format("%s]}]", text);
	return sink_text(to, "manifest.json", whole, e);
}

static int put_all(const struct export *x, const struct sink *to, struct err *e)
{
	if (sink_folder(to, "blobs", e) < 0 || sink_folder(to, BLOBS, e) < 0 ||
	    put_blobs(x, to, e) < 0 || put_index(x, to, e) < 0 ||
	    (x->format == FORMAT_DOCKER && put_saved(x, to, e) < 0) ||
	    sink_text(to, "oci-layout", LAYOUT, e) < 0)
		return -1;
	return sink_end(to, e);
}

/* --- where to ------------------------------------------------------------------ */

static bool is_tar(const char *path)
{
	size_t len = strlen(path);

	return len > 4 && !strcmp(path + len - 4, ".tar");
}

static int no_output(const char *path, struct err *e)
{
	return err_sys(e, "make %.300s", path);
}

/* The tar has a temporary name until it is complete. */
static int export_tar(const struct export *x, const char *path, struct err *e)
{
	AUTO_FREE char *fresh = text_format("%s.%d.part", path, getpid());
	AUTO_CLOSE int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	const struct sink to = { .folder = -1, .tar = fd };

	if (fd < 0)
		return no_output(fresh, e);
	int rc = put_all(x, &to, e);
	if (rc == 0 && (fsync(fd) < 0 || rename(fresh, path) < 0))
		rc = no_output(path, e);
	if (rc < 0)
		(void)unlink(fresh); /* if this fails, the name shows that the file is
				      * temporary */
	return rc;
}

static int export_folder(const struct export *x, const char *path, struct err *e)
{
	AUTO_FREE char *fresh = text_format("%s.%d.part", path, getpid());

	if (mkdir(fresh, 0777) < 0)
		return no_output(fresh, e);
	AUTO_CLOSE int fd = open(fresh, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	const struct sink to = { .folder = fd, .tar = -1 };
	int rc = fd < 0 ? no_output(fresh, e) : put_all(x, &to, e);
	if (rc == 0)
		rc = export_root_name(fresh, path, e);
	if (rc < 0)
		rm_tree_remove(AT_FDCWD, fresh);
	return rc;
}

static int export_out(const struct export *x, struct err *e)
{
	const struct sink to = { .folder = -1, .tar = STDOUT_FILENO };

	if (isatty(STDOUT_FILENO)) {
		(void)err_set(e, ERR_USAGE, "an image is not written to a terminal");
		return err_remedy(e, "-o FILE.tar, or -o FOLDER");
	}
	return put_all(x, &to, e);
}

static int export_to(const struct export *x, const char *path, struct err *e)
{
	const bool is_out = !path || !strcmp(path, "-");

	if (x->format == FORMAT_DIR && !is_out && !is_tar(path))
		return export_root(x->s, &x->digest, path, e);
	if (x->format == FORMAT_DIR) {
		(void)err_set(e, ERR_USAGE, "the format dir is a folder");
		return err_remedy(e, "-o FOLDER");
	}
	if (is_out)
		return export_out(x, e);
	if (is_tar(path))
		return export_tar(x, path, e);
	if (x->format == FORMAT_OCI)
		return export_folder(x, path, e);
	(void)err_set(e, ERR_USAGE,
		      "docker load reads a tar, and '%.200s' is to be a folder", path);
	return err_remedy(e, "-o FILE.tar");
}

/* --- what ---------------------------------------------------------------------- */

static int read_manifest(struct export *x, struct err *e)
{
	AUTO_FREE char *text = NULL;
	struct json_at root, at = { 0 };
	const char *type = DEFAULT;
	size_t len;

	if (blobs_read(x->s, &x->digest, MANIFEST_MAX, &text, &len, e) < 0)
		return -1;
	AUTO_JSON struct json *doc = json_parse(text, len, e);
	if (!doc)
		return -1;
	json_root(doc, "manifest", &root);
	if (json_member(&root, "mediaType", &at) && json_string(&at, &type, e) < 0)
		return -1;
	x->media_type = text_copy(type);
	x->size = len;
	return images_read(x->s, &x->digest, &x->manifest, e);
}

static int find(struct export *x, const char *text, struct err *e)
{
	struct reference name;

	if (store_index_resolve(x->s, text, &x->digest, &name, e) < 0)
		return -1;
	if (name.registry[0]) {
		reference_print(&name, x->name);
		memcpy(x->tag, name.tag, sizeof(x->tag));
	}
	return read_manifest(x, e);
}

static int export(const char *text, const char *path, enum format format, struct err *e)
{
	AUTO_FREE char *doing = text_format("exporting %s", text);
	struct store s;
	struct wait_line line;
	struct export x = { .s = &s, .format = format };

	if (store_open(&s, false, e) < 0)
		return -1;
	AUTO_CLOSE int lock = store_lock(&s, false, true, e);
	wait_line_start(&line, doing);
	int rc = lock < 0 ? -1 : find(&x, text, e);
	if (rc == 0)
		rc = export_to(&x, path, e);
	wait_line_stop(&line);
	manifest_done(&x.manifest);
	own_free(&x.media_type);
	store_done(&s);
	return rc;
}

static int parse_format(const char *name, enum format *ret, struct err *e)
{
	static const char *const names[] = {
		[FORMAT_OCI] = "oci", [FORMAT_DOCKER] = "docker", [FORMAT_DIR] = "dir"
	};

	*ret = FORMAT_OCI;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!name || !strcmp(name, names[i])) {
			*ret = (enum format)i;
			return 0;
		}
	return err_set(e, ERR_USAGE, "'%.60s' is no format: oci, docker or dir", name);
}

int image_export_main(char **argv)
{
	const char *path = NULL, *name = NULL;
	enum format format;
	const struct flag flags[] = {
		{ 'o', "output", "PATH", "FILE.tar, or a folder; else to stdout", NULL,
		  &path },
		{ 0, "format", "NAME", "oci (default), docker or dir", NULL, &name },
	};
	const struct usage usage = {
		.synopsis = "hutch image export REF [-o PATH] [--format oci|docker|dir]",
		.about = "Writes an image as an OCI layout, or its files as a folder.",
		.flags = flags,
		.count = ARRAY_LEN(flags),
		.operands_min = 1,
		.operands_max = 1,
	};
	struct err e;
	enum flags_result got = flags_begin(argv, &usage);

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	if (parse_format(name, &format, &e) == 0 &&
	    export(argv[0], path, format, &e) == 0)
		return 0;
	report_error(&e);
	return EXIT_HUTCH;
}
