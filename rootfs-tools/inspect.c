/* hutch image inspect: prints all that the store knows of images, as JSON. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/own.h"
#include "cli/common/flags.h"
#include "cli/common/report.h"
#include "rootfs-tools/index/document.h"
#include "rootfs-tools/index/store_index.h"
#include "rootfs-tools/layers/blobs.h"
#include "rootfs-tools/layers/layers.h"
#include "rootfs-tools/verbs.h"
#include "sandbox/launch/result.h"
#include "store/store.h"

/* An image and its documents. */
struct subject {
	const struct store *s;
	const struct store_index *c;
	const struct store_index_image *image;
	struct manifest manifest; /* owned */
	struct list diff_ids;	  /* owned */
	char *config;		  /* owned: the text */
};

static int subject_read(struct subject *x, struct err *e)
{
	struct launch_config r;
	size_t len;

	if (images_read(x->s, &x->image->digest, &x->manifest, e) < 0 ||
	    blobs_read(x->s, &x->manifest.config.digest, CONFIG_MAX, &x->config, &len,
		       e) < 0)
		return -1;
	launch_config_init(&r);
	int rc = config_parse(x->config, len, &r, &x->diff_ids, e);
	launch_config_done(&r);
	return rc;
}

static void subject_done(struct subject *x)
{
	manifest_done(&x->manifest);
	list_done(&x->diff_ids);
	own_free(&x->config);
}

static void print_string(const char *key, const char *value)
{
	AUTO_FREE char *quoted = json_write_quoted(value);

	(void)printf(",\"%s\":%s", key, quoted);
}

static void print_strings(const char *key, const struct list *l)
{
	(void)printf(",\"%s\":[", key);
	for (size_t i = 0; i < l->count; i++) {
		AUTO_FREE char *quoted = json_write_quoted(l->items[i]);
		(void)printf("%s%s", i ? "," : "", quoted);
	}
	(void)printf("]");
}

static void print_names(const struct subject *x)
{
	const char *comma = "";
	char text[REFERENCE_MAX];

	(void)printf("{\"names\":[");
	for (size_t i = 0; i < x->c->name_count; i++) {
		if (x->c->names[i].image == SIZE_MAX ||
		    &x->c->images[x->c->names[i].image] != x->image)
			continue;
		reference_print(&x->c->names[i].reference, text);
		(void)printf("%s\"%s\"", comma, text);
		comma = ",";
	}
	(void)printf("]");
}

static void print_launch_config(const struct launch_config *r)
{
	(void)printf(",\"id\":\"sha256:%s\"", r->config.hex);
	print_string("architecture", r->architecture);
	(void)printf(",\"created\":%lld,\"size\":%llu", (long long)r->created,
		     (unsigned long long)r->size);
	print_strings("env", &r->env);
	print_strings("entrypoint", &r->entrypoint);
	print_strings("cmd", &r->cmd);
	print_string("user", r->user);
	print_string("working_dir", r->workdir);
	print_string("stop_signal", r->stop_signal);
}

static void print_layer(const struct subject *x, size_t at)
{
	const struct descriptor *d = &x->manifest.layers[at];
	struct layer_about about = { 0 };
	struct digest diff_id;
	AUTO_FREE char *media_type = json_write_quoted(d->media_type);

	memcpy(diff_id.hex, x->diff_ids.items[at], sizeof(diff_id.hex));
	(void)layers_has(x->s, &diff_id, &about); /* on failure the sizes are 0; hutch
						   * image verify reports the fault */
	(void)printf(
		"%s{\"diff_id\":\"sha256:%s\",\"digest\":\"sha256:%s\",\"media_type\":%s,"
		"\"compressed_size\":%llu,\"size\":%llu,\"entries\":%llu,\"left_out\":%llu}",
		at ? "," : "", diff_id.hex, d->digest.hex, media_type,
		(unsigned long long)d->size, (unsigned long long)about.bytes,
		(unsigned long long)about.entries, (unsigned long long)about.left_out);
}

/* The configuration was parsed before, so it is printed unchanged. */
static void print_subject(const struct subject *x)
{
	print_names(x);
	(void)printf(",\"digest\":\"sha256:%s\"", x->image->digest.hex);
	print_launch_config(&x->image->launch_config);
	(void)printf(",\"layers\":[");
	for (size_t i = 0; i < x->manifest.layer_count && i < x->diff_ids.count; i++)
		print_layer(x, i);
	(void)printf("],\"configuration\":%s}", x->config);
}

static int inspect_one(const struct store *s, const struct store_index *c,
		       const char *text, bool is_first, struct err *e)
{
	struct subject x = { .s = s, .c = c };
	size_t image, name;

	if (store_index_find(c, text, &image, &name, e) < 0)
		return -1;
	x.image = &c->images[image];
	int rc = subject_read(&x, e);
	if (rc == 0) {
		(void)fputs(is_first ? "" : ",", stdout);
		print_subject(&x);
	}
	subject_done(&x);
	return rc;
}

static int inspect_all(char **names, struct err *e)
{
	struct store_index c;
	struct store s;
	int code = 0;
	bool is_first = true;

	if (store_open(&s, false, e) < 0)
		return -1;
	int rc = store_index_take(&s, &c, e);
	if (rc == 0) {
		(void)printf("[");
		for (; *names; names++) {
			if (inspect_one(&s, &c, *names, is_first, e) == 0) {
				is_first = false;
				continue;
			}
			report_error(e);
			code = EXIT_HUTCH;
		}
		(void)printf("]\n");
		store_index_done(&c);
	}
	store_done(&s);
	return rc < 0 ? -1 : code;
}

int image_inspect_main(char **argv)
{
	static const struct usage usage = {
		.synopsis = "hutch image inspect REF...",
		.about = "Prints all that is known of images, as a JSON array.",
		.operands_min = 1, .operands_max = SIZE_MAX,
	};
	struct err e;
	enum flags_result got = flags_begin(argv, &usage);

	if (got != FLAGS_READ)
		return got == FLAGS_HELP ? 0 : EXIT_HUTCH;
	int code = inspect_all(argv, &e);
	if (code >= 0)
		return code;
	report_error(&e);
	return EXIT_HUTCH;
}
