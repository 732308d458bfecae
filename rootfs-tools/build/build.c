#include "rootfs-tools/build/build.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/kernel.h"
#include "base/own.h"
#include "base/regular.h"
#include "policy/egress_policy.h"
#include "policy/extra_host.h"
#include "policy/policy.h"
#include "policy/units.h"
#include "rootfs-tools/build/builder.h"
#include "rootfs-tools/index/images.h"
#include "store/reference.h"
#include "store/refs.h"

#define TEXT_MAX (1u << 20) /* bytes of a Dockerfile, or of .dockerignore */

_Static_assert(TEXT_MAX >= DOCKERFILE_MAX, "a Dockerfile is read whole");

static void note(const struct builder *b, const char *text)
{
	if (!b->options->is_quiet)
		(void)fprintf(stderr, "hutch: %s: %s\n", b->file.name, text);
}

/* Sets the build's time: `now`, in seconds since 1970, unless the caller has fixed the
 * time by SOURCE_DATE_EPOCH (reproducible-builds.org). */
static int read_time(struct builder *b, int64_t now, struct err *e)
{
	const char *epoch = getenv("SOURCE_DATE_EPOCH");
	uint64_t seconds;

	b->now = now;
	b->newest = INT64_MAX;
	if (!epoch || !*epoch)
		return 0;
	if (units_parse_number(epoch, &seconds, e) < 0 || seconds > INT64_MAX / 2)
		return err_set(e, ERR_USAGE,
			       "SOURCE_DATE_EPOCH=%.60s is no time in seconds", epoch);
	b->now = b->newest = (int64_t)seconds;
	return 0;
}

/* A context that came on stdin is foreign: its links must not lead to files of this
 * host. */
static bool is_foreign(const struct builder *b)
{
	return b->given.folder >= 0;
}

/* The file of -f may be a pipe, as a shell's `<(command)` is; the others are files of the
 * project. */
static int open_text(const struct builder *b, int at, const char *name, struct err *e)
{
	const struct open_how how = { .flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC,
				      .resolve = RESOLVE_IN_ROOT |
						 RESOLVE_NO_MAGICLINKS };
	const char *given = b->options->file;
	const bool is_given = given && !strcmp(name, given);

	if (!is_foreign(b) && !is_given)
		return regular_open(at, name, 0, name, e);
	const int fd = is_foreign(b) ? sys_openat2(b->context, name, &how)
				     : openat(at, name, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? err_sys(e, "open %.300s", name) : fd;
}

/* A small text: `name` in the folder `at`, or in a foreign context. */
struct small {
	char *text; /* owned */
	size_t len;
};

static int read_text(const struct builder *b, int at, const char *name, struct small *ret,
		     struct err *e)
{
	AUTO_CLOSE int fd = open_text(b, at, name, e);

	if (fd < 0)
		return -1;
	return io_read_file(fd, name, TEXT_MAX, &ret->text, &ret->len, e);
}

/* Reads FILE.dockerignore beside the Dockerfile FILE, else .dockerignore of the
 * context. */
static int read_ignore(struct builder *b, const char *file, struct err *e)
{
	AUTO_FREE char *own = text_format("%s.dockerignore", file);
	const char *name = own;
	struct small small = { 0 };
	struct err why;

	int rc = read_text(b, AT_FDCWD, own, &small, &why);
	if (rc < 0 && why.kind == ERR_NOT_FOUND) {
		name = ".dockerignore";
		rc = read_text(b, b->context, name, &small, &why);
	}
	if (rc < 0 && why.kind == ERR_NOT_FOUND)
		return 0;
	if (rc < 0)
		*e = why;
	else
		rc = ignore_read(small.text, small.len, name, &b->ignore, e);
	free(small.text);
	return rc;
}

static int parse(struct builder *b, const char *path, const char *text, size_t len,
		 struct err *e)
{
	const char *slash = strrchr(path, '/');

	if (dockerfile_parse(text, len, slash ? slash + 1 : path, &b->file, e) < 0)
		return -1;
	for (size_t i = 0; i < b->file.notes.count; i++)
		note(b, b->file.notes.items[i]);
	return 0;
}

/* Tells whether the path leads out of the folder that it begins in. */
static bool leads_out(const char *path)
{
	AUTO_FREE char *copy = text_copy(path);
	char *rest = copy;
	long depth = 0;

	for (char *one = strsep(&rest, "/"); one && depth >= 0; one = strsep(&rest, "/"))
		depth += !strcmp(one, "..") ? -1 : *one && strcmp(one, ".") != 0 ? 1 : 0;
	return *path == '/' || depth < 0;
}

/* A file of this host beside stdin is refused: opened inside of the context, the path
 * could be that of another file. */
static int check_given(const struct builder *b, struct err *e)
{
	const char *file = b->options->file;

	if (b->given.text && file)
		return err_set(e, ERR_USAGE, "-f %.100s: stdin is the Dockerfile already",
			       file);
	if (b->given.text && !*b->given.text) {
		(void)err_set(e, ERR_USAGE, "build -: stdin is empty");
		return err_remedy(e, "pipe in a Dockerfile, or a tar of the context");
	}
	if (!file || !leads_out(file))
		return 0;
	(void)err_set(e, ERR_USAGE,
		      "-f %.200s: it lies outside of the context, which stdin is", file);
	return err_remedy(e, "put the Dockerfile into the tar");
}

static int read_given(struct builder *b, struct err *e)
{
	if (context_read(&b->given, &b->store, STDIN_FILENO, e) < 0)
		return err_in(e, "build -: stdin");
	b->context = b->given.folder;
	if (b->given.left_out > 0)
		(void)fprintf(
			stderr,
			"hutch: %llu left out of the context: devices, FIFOs or sockets\n",
			(unsigned long long)b->given.left_out);
	return check_given(b, e);
}

static int open_context(struct builder *b, struct err *e)
{
	const char *path = b->options->context;

	if (!strcmp(path, "-"))
		return read_given(b, e);
	b->context = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return b->context < 0 ? err_sys(e, "open the context %.300s", path) : 0;
}

static int parse_file(struct builder *b, struct err *e)
{
	const struct build_options *o = b->options;
	AUTO_FREE char *path = o->file	       ? text_copy(o->file)
			       : is_foreign(b) ? text_copy("Dockerfile")
					       : text_format("%s/Dockerfile", o->context);
	struct small small = { 0 };

	if (o->text)
		return parse(b, path, o->text, strlen(o->text), e) < 0 ?
			       -1 :
			       ignore_read(o->ignored, strlen(o->ignored), path,
					   &b->ignore, e);
	if (b->given.text)
		return parse(b, path, b->given.text, strlen(b->given.text), e);
	if (read_text(b, AT_FDCWD, path, &small, e) < 0)
		return o->file ? -1 : err_remedy(e, "-f FILE names another");
	int rc = parse(b, path, small.text, small.len, e);
	free(small.text);
	return rc < 0 ? -1 : read_ignore(b, path, e);
}

static int check_tags(const struct build_options *o, struct err *e)
{
	struct reference r;

	for (size_t i = 0; i < o->tags.count; i++)
		if (reference_parse_name(o->tags.items[i], &r, e) < 0)
			return err_in(e, "-t %.100s", o->tags.items[i]);
	return 0;
}

static void tell_unused(const struct builder *b)
{
	for (size_t i = 0; i < b->options->args.count; i++) {
		AUTO_FREE char *name =
			text_format("%.*s", (int)strcspn(b->options->args.items[i], "="),
				    b->options->args.items[i]);
		AUTO_FREE char *text = text_format("no ARG takes --build-arg %s", name);
		if (!list_has(&b->used, name) && !strcasestr(name, "_proxy"))
			note(b, text);
	}
}

static int name_it(struct builder *b, struct digest *ret, struct err *e)
{
	const struct image_config *c = &b->stages[b->target].result;
	AUTO_FREE char *config = image_config_print(c);
	struct reference r;

	if (images_make(&b->store, config, &c->layers, &c->diff_ids, NULL, ret, e) < 0)
		return -1;
	for (size_t i = 0; i < b->options->tags.count; i++)
		if (reference_parse(b->options->tags.items[i], &r, e) < 0 ||
		    refs_put(&b->store, &r, ret, e) < 0)
			return -1;
	return 0;
}

static int build(struct builder *b, int64_t now, struct digest *ret, struct err *e)
{
	if (check_tags(b->options, e) < 0 || read_time(b, now, e) < 0 ||
	    store_open(&b->store, true, e) < 0)
		return -1;
	b->lock = store_lock(&b->store, false, true, e);
	if (b->lock < 0 || open_context(b, e) < 0 || parse_file(b, e) < 0 ||
	    stages_plan(b, e) < 0)
		return -1;
	for (size_t i = 0; i <= b->target; i++)
		if (b->stages[i].is_needed && steps_do(b, &b->stages[i], e) < 0)
			return -1;
	tell_unused(b);
	return name_it(b, ret, e);
}

static int check_network(struct policy *p, const struct build_network *n, struct err *e)
{
	for (size_t i = 0; i < n->allow.count; i++)
		if (egress_policy_add(p, EGRESS_ALLOW, n->allow.items[i], e) < 0)
			return -1;
	for (size_t i = 0; i < n->add_hosts.count; i++)
		if (extra_host_add(p, n->add_hosts.items[i], e) < 0)
			return -1;
	if (policy_take_network(p, n->mode, e) < 0 || egress_policy_check(p, e) < 0)
		return -1;
	return extra_host_check(p, e);
}

int build_check_network(struct build_network *n, struct err *e)
{
	struct policy p;

	policy_init(&p);
	if (!n->mode)
		n->mode = n->allow.count ? "allow" : "none";
	int result = check_network(&p, n, e);
	policy_done(&p);
	return result;
}

void build_network_done(struct build_network *n)
{
	list_done(&n->allow);
	list_done(&n->add_hosts);
}

int build_image(const struct build_options *options, struct digest *ret, struct err *e)
{
	struct builder b = { .options = options, .lock = -1, .context = -1 };

	store_init(&b.store);
	context_init(&b.given);
	int rc = build(&b, (int64_t)time(NULL), ret, e);
	stages_done(&b);
	dockerfile_done(&b.file);
	ignore_done(&b.ignore);
	list_done(&b.global);
	list_done(&b.used);
	if (!is_foreign(&b))
		own_close(&b.context);
	context_done(&b.given, &b.store);
	own_close(&b.lock);
	store_done(&b.store);
	return rc;
}
