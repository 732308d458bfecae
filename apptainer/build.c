/* apptainer build, pull: a folder with the files of an image, or a file with all of it. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apptainer/sandbox_dir.h"
#include "apptainer/source.h"
#include "apptainer/stored.h"
#include "apptainer/verbs.h"
#include "base/err.h"
#include "base/hex.h"
#include "base/list.h"
#include "base/own.h"
#include "docker/args.h"
#include "docker/describe.h"
#include "docker/run_args.h"
#include "docker/verb.h"
#include "sandbox/kernel/host_user.h"
#include "store/rm_tree.h"

struct build {
	struct args args;	   /* first, so that build_of() finds the whole */
	const char *folder, *name; /* borrowed: of pull, --dir and --name */
	bool is_sandbox, is_forced, is_fresh;
};

static struct build *build_of(struct args *a)
{
	static_assert(offsetof(struct build, args) == 0, "build_of() is a cast");
	return (struct build *)a;
}

/* --- the flags --------------------------------------------------------------------- */

static int take_sandbox(struct args *a, const char *value, struct err *e)
{
	(void)value, (void)e;
	build_of(a)->is_sandbox = true;
	return 0;
}

static int take_force(struct args *a, const char *value, struct err *e)
{
	(void)value, (void)e;
	build_of(a)->is_forced = true;
	return 0;
}

static int take_fresh(struct args *a, const char *value, struct err *e)
{
	(void)value, (void)e;
	build_of(a)->is_fresh = true;
	return 0;
}

static int take_folder(struct args *a, const char *value, struct err *e)
{
	(void)e;
	build_of(a)->folder = value;
	return 0;
}

static int take_name(struct args *a, const char *value, struct err *e)
{
	(void)e;
	build_of(a)->name = value;
	return 0;
}

#define NO_REGISTRY                                                              \
	"hutch fetches images by docker:// alone; docker login or skopeo login " \
	"writes a file that hutch reads"
#define NO_DEFINITION "hutch builds from a Dockerfile: hutch image build"
#define NO_SQUASH     "hutch writes no squashfs"
#define NO_CHANGE     "build makes a new folder or file"

/* clang-format off */
static const struct arg build_rows[] = {
	VERBS_GLOBAL_FLAGS,
	{ 's', "sandbox", false, NULL, take_sandbox, NULL },
	{ 'F', "force", false, NULL, take_force, NULL },
	{ 0, "arch", true, NULL, run_args_platform, NULL },
	{ 'f', "fakeroot", false, NULL, NULL, NULL },
	{ 'T', "notest", false, NULL, NULL, NULL },
	{ 0, "userns", false, NULL, NULL, NULL },
	{ 0, "disable-cache", false, NULL, take_fresh, NULL },
	{ 0, "no-cleanup", false, NULL, NULL, NULL },
	{ 0, "no-setgroups", false, NULL, NULL, NULL },
	{ 0, "reproducible", false, NULL, NULL, NULL },
	{ 0, "ignore-subuid", false, NULL, NULL, NULL },
	{ 0, "ignore-fakeroot-command", false, NULL, NULL, NULL },
	{ 0, "ignore-proot", false, NULL, NULL, NULL },
	{ 'u', "update", false, NULL, NULL, NO_CHANGE },
	{ 'e', "encrypt", false, NULL, NULL, NO_SQUASH },
	{ 0, "mksquashfs-args", true, NULL, NULL, NO_SQUASH },
	{ 0, "fix-perms", false, NULL, NULL, "the files keep the modes of the image" },
	{ 'B', "bind", true, NULL, NULL, NO_DEFINITION },
	{ 0, "mount", true, NULL, NULL, NO_DEFINITION },
	{ 0, "section", true, NULL, NULL, NO_DEFINITION },
	{ 0, "build-arg", true, NULL, NULL, NO_DEFINITION },
	{ 0, "build-arg-file", true, NULL, NULL, NO_DEFINITION },
	{ 0, "writable-tmpfs", false, NULL, NULL, NO_DEFINITION },
	{ 0, "json", false, NULL, NULL, NO_DEFINITION },
	{ 0, "nv", false, NULL, NULL, NO_DEFINITION },
	{ 0, "rocm", false, NULL, NULL, NO_DEFINITION },
	{ 0, "remote", false, NULL, NULL, "hutch builds on this host alone" },
	{ 0, "library", true, NULL, NULL, NO_REGISTRY },
	{ 0, "docker-login", false, NULL, NULL, NO_REGISTRY },
	{ 0, "docker-host", true, NULL, NULL, "docker-daemon: means the images of hutch" },
};

static const struct arg pull_rows[] = {
	VERBS_GLOBAL_FLAGS,
	{ 0, "sandbox", false, NULL, take_sandbox, NULL },
	{ 'F', "force", false, NULL, take_force, NULL },
	{ 0, "dir", true, NULL, take_folder, NULL },
	{ 0, "name", true, NULL, take_name, NULL },
	{ 0, "arch", true, NULL, run_args_platform, NULL },
	{ 0, "disable-cache", false, NULL, take_fresh, NULL },
	{ 0, "no-cleanup", false, NULL, NULL, NULL },
	{ 0, "reproducible", false, NULL, NULL, NULL },
	{ 'U', "allow-unsigned", false, NULL, NULL, NULL },
	{ 0, "allow-unauthenticated", false, NULL, NULL, NULL },
	{ 0, "library", true, NULL, NULL, NO_REGISTRY },
	{ 0, "docker-login", false, NULL, NULL, NO_REGISTRY },
	{ 0, "docker-host", true, NULL, NULL, "docker-daemon: means the images of hutch" },
};
/* clang-format on */

static const struct arg_table build_table = { "apptainer", "build", build_rows,
					      ARRAY_LEN(build_rows) };
static const struct arg_table pull_table = { "apptainer", "pull", pull_rows,
					     ARRAY_LEN(pull_rows) };

/* --- the image --------------------------------------------------------------------- */

/* An image in the store. */
struct made {
	char *reference; /* owned */
	bool is_passing; /* its name goes when the build is done */
};

static int import_passing(const struct source *s, struct made *m, struct err *e)
{
	char digits[17];

	if (hex_random(digits, 16, e) < 0)
		return -1;
	m->reference = text_format(STORED_FRONT "build:%s", digits);
	m->is_passing = true;
	return stored_import(s, m->reference, e);
}

static int get_image(const struct build *b, const struct source *s, struct made *m,
		     struct err *e)
{
	if (s->kind == SOURCE_INSTANCE || s->kind == SOURCE_HOST)
		return err_set(e, ERR_USAGE,
			       "build takes an image, an archive or a folder");
	if (s->kind == SOURCE_IMAGE)
		m->reference = stored_pull(s->word, b->is_fresh, e);
	else if (s->kind == SOURCE_STORED)
		m->reference = stored_check(s->word, e) < 0 ? NULL : text_copy(s->word);
	else
		return import_passing(s, m, e);
	return m->reference ? 0 : -1;
}

/* Runs "hutch image export REFERENCE --format FORMAT -o PATH". */
static int export(const char *reference, const char *format, const char *path,
		  struct err *e)
{
	struct list words = { 0 };

	list_add(&words, "image");
	list_add(&words, "export");
	list_add(&words, reference);
	list_add(&words, "--format");
	list_add(&words, format);
	list_add(&words, "-o");
	list_add(&words, path);
	int code = verb_run(&words, VERB_DROP, NULL, e);
	list_done(&words);
	if (code <= 0)
		return code;
	(void)err_set(e, ERR_SYSTEM, "could not write %.300s", path);
	return err_remedy(e,
			  "user %u, the owner of the images, must be able to write there",
			  (unsigned)geteuid());
}

/* --- what is written --------------------------------------------------------------- */

/* Makes the folder under a name of its own; it gets its name when it is whole. */
static int write_folder(const struct made *m, const char *fresh, struct err *e)
{
	struct json_view info;

	AUTO_FREE char *text = describe_image_info(m->reference, &info, e);
	if (!text || export(m->reference, "dir", fresh, e) < 0)
		return -1;
	return sandbox_dir_write(fresh, info, e);
}

/* Puts `fresh` in the place of `path`, whose old content is removed. */
static int replace(const char *fresh, const char *path, struct err *e)
{
	struct stat st;

	if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
		rm_tree_remove(AT_FDCWD, path);
	return rename(fresh, path) < 0 ? err_sys(e, "make %.300s", path) : 0;
}

static int write_out(const struct build *b, const struct made *m, const char *path,
		     struct err *e)
{
	AUTO_FREE char *fresh =
		text_format("%s.%d.%s", path, getpid(), b->is_sandbox ? "part" : "tar");

	int rc = b->is_sandbox ? write_folder(m, fresh, e)
			       : export(m->reference, "oci", fresh, e);
	if (rc == 0)
		rc = replace(fresh, path, e);
	if (rc < 0 && b->is_sandbox)
		rm_tree_remove(AT_FDCWD, fresh);
	else if (rc < 0)
		(void)unlink(fresh); /* hutch may have removed it already */
	if (rc == 0 && !b->is_sandbox)
		rc = stored_note(path, m->reference, e);
	return rc;
}

static int check_free(const struct build *b, const char *path, struct err *e)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : err_sys(e, "make %.300s", path);
	if (b->is_forced)
		return 0;
	(void)err_set(e, ERR_EXISTS,
		      "image file already exists: \"%.300s\" - will not overwrite", path);
	return err_remedy(e, "--force replaces it");
}

static int build(const struct build *b, const char *path, const char *from, struct err *e)
{
	struct source s = { 0 };
	struct made m = { 0 };

	/* Images belong to the user that sandboxes run for, and so does the result. */
	if (host_user_become_for_images(e) < 0 || check_free(b, path, e) < 0)
		return -1;
	int rc = source_read(from, &s, e);
	if (rc == 0)
		rc = get_image(b, &s, &m, e);
	if (rc == 0)
		rc = write_out(b, &m, path, e);
	if (m.is_passing && m.reference)
		stored_remove(m.reference);
	if (rc == 0)
		verbs_info("Build complete: %s", path);
	own_free(&m.reference);
	source_done(&s);
	return rc;
}

/* --- the verbs --------------------------------------------------------------------- */

/* Returns the name of the file that Apptainer makes of a reference: NAME_TAG.sif. */
static char *file_of(const char *from)
{
	const char *last = strrchr(from, '/');
	AUTO_FREE char *name = text_copy(last ? last + 1 : from);
	char *digest = strchr(name, '@');

	if (digest)
		*digest = '\0';
	char *tag = strchr(name, ':');
	if (tag)
		*tag++ = '\0';
	return text_format("%s_%s.sif", name, digest ? "latest" : tag ? tag : "latest");
}

static char *path_of(const struct build *b, const struct list *operands)
{
	const char *from = operands->items[operands->count - 1];
	AUTO_FREE char *file = operands->count > 1 ? text_copy(operands->items[0])
			       : b->name	   ? text_copy(b->name)
						   : file_of(from);

	return b->folder && file[0] != '/' ? text_format("%s/%s", b->folder, file)
					   : text_copy(file);
}

struct build_verb {
	const struct arg_table *table;
	const char *operands;
	size_t min;
};

static int run(char **argv, const struct build_verb *v)
{
	struct list operands = { 0 };
	struct build b = { 0 };
	struct err e;
	int code = 0;

	if (args_help(argv, v->table, v->operands))
		return 0;
	int rc = args_read_all(argv, v->table, &b.args, &operands, &e);
	if (rc == 0 && (operands.count < v->min || operands.count > 2))
		code = verbs_count_fails(v->table->verb, v->min, operands.count);
	if (rc == 0 && code == 0) {
		AUTO_FREE char *path = path_of(&b, &operands);
		rc = build(&b, path, operands.items[operands.count - 1], &e);
	}
	if (rc < 0)
		code = verbs_fail(v->table->verb, &b.args, &e);
	args_done(&b.args);
	list_done(&operands);
	return code;
}

int build_verb(char **argv)
{
	return run(argv, &(struct build_verb){ &build_table, "DESTINATION IMAGE", 2 });
}

int pull_verb(char **argv)
{
	return run(argv, &(struct build_verb){ &pull_table, "[DESTINATION] IMAGE", 1 });
}
