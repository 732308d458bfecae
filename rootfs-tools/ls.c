/* hutch image ls: lists the images in the store and their names. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/own.h"
#include "cli/common/flags.h"
#include "cli/common/report.h"
#include "cli/common/table.h"
#include "rootfs-tools/index/store_index.h"
#include "rootfs-tools/verbs.h"
#include "sandbox/launch/result.h"
#include "store/store.h"

#define ID_SHOWN 12
#define NONE	 "<none>"

struct ls_options {
	bool is_json, is_quiet, has_digests, is_whole, has_builds;
};

/* A name and its image, or an image without one. */
struct row {
	const struct reference *name; /* the name, or NULL */
	const struct store_index_image *image;
};

static char *created_of(const struct store_index_image *image)
{
	time_t at = (time_t)image->launch_config.created;
	char text[40];
	struct tm t;

	if (!gmtime_r(&at, &t) || !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &t))
		return NULL;
	return text_copy(text);
}

/* Returns the shortest form of the reference, without its tag. */
static char *repository_of(const struct reference *r)
{
	struct reference bare = *r;
	char text[REFERENCE_MAX];

	memset(&bare.pin, 0, sizeof(bare.pin));
	(void)snprintf(bare.tag, sizeof(bare.tag), "latest");
	reference_print_short(&bare, text);
	return text_copy(text);
}

/* --- for programs -------------------------------------------------------------- */

static void print_json(const struct row *r, bool is_first)
{
	AUTO_FREE char *repository = r->name ? repository_of(r->name) : NULL;
	AUTO_FREE char *quoted = json_write_quoted(repository);
	const bool has_tag = r->name && r->name->tag[0];
	AUTO_FREE char *tag = json_write_quoted(has_tag ? r->name->tag : NULL);
	AUTO_FREE char *created = created_of(r->image);
	AUTO_FREE char *when = json_write_quoted(created);

	(void)printf("%s{\"repository\":%s,\"tag\":%s,\"id\":\"sha256:%s\","
		     "\"digest\":\"sha256:%s\",\"created\":%s,\"size\":%llu}",
		     is_first ? "" : ",", quoted, tag, r->image->launch_config.config.hex,
		     r->image->digest.hex, when,
		     (unsigned long long)r->image->launch_config.size);
}

/* --- for people ---------------------------------------------------------------- */

static char *id_of(const struct row *r, const struct ls_options *o)
{
	const char *hex = r->image->launch_config.config.hex;

	return o->is_whole ? text_format("sha256:%s", hex) :
			     text_format("%.*s", ID_SHOWN, hex);
}

static void add_row(struct table *t, const struct row *r, const struct ls_options *o,
		    int64_t now)
{
	AUTO_FREE char *created = created_of(r->image);

	table_add(t, r->name ? repository_of(r->name) : text_copy(NONE));
	table_add(t, text_copy(r->name && r->name->tag[0] ? r->name->tag : NONE));
	if (o->has_digests)
		table_add(t, text_format("sha256:%s", r->image->digest.hex));
	table_add(t, r->image->is_broken ? text_copy("(broken)") : id_of(r, o));
	table_add(t, created && r->image->launch_config.created ? table_age(created, now)
								: NULL);
	table_add(t, table_bytes(r->image->launch_config.size));
}

static void begin_table(struct table *t, const struct ls_options *o)
{
	static const char *const heads[] = { "REPOSITORY", "TAG",     "DIGEST",
					     "IMAGE ID",   "CREATED", "SIZE" };

	*t = (struct table){ .columns = ARRAY_LEN(heads) - !o->has_digests };
	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		if (o->has_digests || strcmp(heads[i], "DIGEST"))
			table_add(t, text_copy(heads[i]));
}

/* --- all ----------------------------------------------------------------------- */

/* Prints each id once. */
static void print_ids(const struct row *rows, size_t count, const struct ls_options *o)
{
	for (size_t i = 0; i < count; i++) {
		bool is_again = false;
		for (size_t k = 0; k < i && !is_again; k++)
			is_again = digest_equal(&rows[k].image->launch_config.config,
						&rows[i].image->launch_config.config);
		AUTO_FREE char *id = id_of(&rows[i], o);
		if (!is_again)
			(void)puts(id);
	}
}

static void print(const struct row *rows, size_t count, const struct ls_options *o)
{
	const int64_t now = (int64_t)time(NULL);
	struct table t;

	if (o->is_quiet) {
		print_ids(rows, count, o);
		return;
	}
	if (o->is_json) {
		(void)printf("[");
		for (size_t i = 0; i < count; i++)
			print_json(&rows[i], i == 0);
		(void)printf("]\n");
		return;
	}
	begin_table(&t, o);
	for (size_t i = 0; i < count; i++)
		add_row(&t, &rows[i], o, now);
	table_print(&t, stdout);
	table_done(&t);
}

/* Prints the images that have names, in the names' order, then the others.  A name of
 * hutch's builds counts as none, and hides its image by default. */
static void print_index(const struct store_index *c, const struct ls_options *o)
{
	AUTO_FREE struct row *rows =
		mem_zeroed(c->name_count + c->image_count, sizeof(*rows));
	AUTO_FREE bool *is_named = mem_zeroed(c->image_count, sizeof(*is_named));
	size_t count = 0;

	for (size_t i = 0; i < c->name_count; i++) {
		const bool is_builds =
			!strcmp(c->names[i].reference.registry, REFERENCE_BUILDS);
		if (c->names[i].image == SIZE_MAX || (is_builds && o->has_builds))
			continue;
		is_named[c->names[i].image] = true;
		if (is_builds)
			continue;
		rows[count++] = (struct row){ &c->names[i].reference,
					      &c->images[c->names[i].image] };
	}
	for (size_t i = 0; i < c->image_count; i++)
		if (!is_named[i])
			rows[count++] = (struct row){ NULL, &c->images[i] };
	print(rows, count, o);
}

static int ls(const struct ls_options *o, struct err *e)
{
	const struct store_index none = { 0 };
	struct store_index c;
	struct store s;

	if (store_open(&s, false, e) < 0) {
		if (e->kind == ERR_NOT_FOUND)
			print_index(&none, o);
		return e->kind == ERR_NOT_FOUND ? 0 : -1;
	}
	int rc = store_index_take(&s, &c, e);
	store_done(&s);
	if (rc == 0) {
		print_index(&c, o);
		store_index_done(&c);
	}
	return rc;
}

int image_ls_main(char **argv)
{
	struct ls_options o = { 0 };
	const struct flag flags[] = {
		{ 'a', "all", NULL, "also steps and remembered layers of builds",
		  &o.has_builds, NULL },
		{ 0, "digests", NULL, "the digests of their manifests, too",
		  &o.has_digests, NULL },
		{ 0, "json", NULL, "one array on one line", &o.is_json, NULL },
		{ 'q', "quiet", NULL, "ids alone", &o.is_quiet, NULL },
		{ 0, "no-trunc", NULL, "do not shorten anything", &o.is_whole, NULL },
	};
	const struct usage usage = {
		.synopsis = "hutch image ls [OPTIONS]",
		.about = "Lists the images that are in the store.",
		.flags = flags, .count = ARRAY_LEN(flags),
	};
	struct err e;
	enum flags_result got = flags_begin(argv, &usage);

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	return report_end(ls(&o, &e), &e);
}
