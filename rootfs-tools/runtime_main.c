/* hutch image runtime-build: makes OpenHands' runtime images, by their three tags.
 *
 *	the first existing tag	the build
 *	the source tag		nothing is built
 *	the lock tag		over it: copies the sources
 *	the versioned tag	over it: also installs dependencies
 *	none of them		over the base: also sets up the system
 *
 * As OpenHands does it (runtime_build.py), the image gets the source and lock tags that
 * no image has yet, and the versioned tag if it was built from the base. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "cli/common/flags.h"
#include "cli/common/report.h"
#include "rootfs-tools/build/build.h"
#include "rootfs-tools/build/runtime_tags.h"
#include "rootfs-tools/verbs.h"
#include "sandbox/launch/result.h"
#include "store/reference.h"
#include "store/refs.h"
#include "store/store.h"

#define REPOSITORY "ghcr.io/openhands/runtime"
#define BASE	   "nikolaik/python-nodejs:python3.12-nodejs22"
#define CODE	   "/openhands/code"
#define VENV	   "/openhands/venv"

#define SETUP                                                                         \
	"apt-get update && apt-get install -y --no-install-recommends bash git curl " \
	"ca-certificates tmux sudo build-essential python3 python3-venv && "          \
	"rm -rf /var/lib/apt/lists/*"
#define INSTALL                                                                   \
	"python3 -m venv " VENV " && " VENV "/bin/pip install poetry && cd " CODE \
	" && " VENV "/bin/poetry install --only main,runtime --no-interaction --no-root"
#define BROWSER " && " VENV "/bin/poetry run playwright install --with-deps chromium"

/* Files that OpenHands' own copy of the package leaves out, or that are no sources. */
#define IGNORED "openhands/**/__pycache__\nopenhands/**/*.pyc\nopenhands/**/*.md\n"

enum from { FROM_NOTHING, FROM_LOCK, FROM_VERSIONED, FROM_SCRATCH };

static const char *const from_names[] = {
	[FROM_NOTHING] = "no",
	[FROM_LOCK] = "lock",
	[FROM_VERSIONED] = "versioned",
	[FROM_SCRATCH] = "scratch",
};

struct wish {
	struct runtime_wish runtime;
	const char *setup, *install, *extra;
	struct build_network network;
	bool is_forced, is_dry, is_quiet;
};

/* --- what there is -------------------------------------------------------------- */

static int is_there(const struct store *s, const char *name, struct err *e)
{
	struct reference r;
	struct digest image;

	if (reference_parse(name, &r, e) < 0)
		return -1;
	if (refs_get(s, &r, &image, e) == 0)
		return 1;
	return e->kind == ERR_NOT_FOUND ? 0 : -1;
}

/* Finds the image to build from, and lists those of the three tags that no image has
 * yet. */
static int decide(const struct wish *w, const struct runtime_tags *t, enum from *ret,
		  struct list *free_tags, struct err *e)
{
	const char *const names[] = { t->source, t->lock, t->versioned };
	int there[ARRAY_LEN(names)];
	struct store s;

	store_init(&s);
	int rc = store_open(&s, true, e);
	for (size_t i = 0; i < ARRAY_LEN(names) && rc == 0; i++) {
		there[i] = is_there(&s, names[i], e);
		rc = there[i] < 0 ? -1 : 0;
	}
	store_done(&s);
	if (rc < 0)
		return -1;
	*ret = w->is_forced ? FROM_SCRATCH :
	       there[0]	    ? FROM_NOTHING :
	       there[1]	    ? FROM_LOCK :
	       there[2]	    ? FROM_VERSIONED :
			      FROM_SCRATCH;
	for (size_t i = 0; i < (*ret == FROM_SCRATCH ? 3 : 2); i++)
		if (!there[i] || w->is_forced)
			list_add(free_tags, names[i]);
	return 0;
}

/* --- the Dockerfile ------------------------------------------------------------- */

/* Returns the path `inner` if the project has a file there, else `outer`. */
static const char *place_of(const struct wish *w, const char *inner, const char *outer)
{
	AUTO_FREE char *path = text_format("%s/%s", w->runtime.project, inner);

	return access(path, F_OK) == 0 ? inner : outer;
}

static char *copy_dependencies(const struct wish *w)
{
	return text_format("COPY %s %s " CODE "/\n",
			   place_of(w, "openhands/pyproject.toml", "pyproject.toml"),
			   place_of(w, "openhands/poetry.lock", "poetry.lock"));
}

/* Returns "RUN COMMAND\n", or an empty text. */
static char *run_line(bool is_wanted, const char *command)
{
	return is_wanted ? text_format("RUN %s\n", command) : text_copy("");
}

static char *make_file(const struct wish *w, const struct runtime_tags *t, enum from from)
{
	const char *base = from == FROM_LOCK	  ? t->lock :
			   from == FROM_VERSIONED ? t->versioned :
						    w->runtime.base;
	AUTO_FREE char *usual =
		text_format(INSTALL "%s", w->runtime.has_no_browser ? "" : BROWSER);
	AUTO_FREE char *skills = text_format("%s/skills", w->runtime.project);
	AUTO_FREE char *needs = copy_dependencies(w);
	AUTO_FREE char *setup =
		run_line(from == FROM_SCRATCH, w->setup ? w->setup : SETUP);
	AUTO_FREE char *install =
		run_line(from != FROM_LOCK, w->install ? w->install : usual);
	AUTO_FREE char *extra = run_line(w->extra && *w->extra, w->extra);

	return text_format(
		"FROM %s\n%s%s%sRUN rm -rf " CODE "/openhands " CODE "/skills\n%s%s"
		"COPY openhands " CODE "/openhands\n%s",
		base, setup, from == FROM_LOCK ? "" : needs, install,
		from == FROM_LOCK ? needs : "",
		access(skills, F_OK) == 0 ? "COPY skills " CODE "/skills\n" : "", extra);
}

/* --- what is done --------------------------------------------------------------- */

static void tell(const struct wish *w, const struct runtime_tags *t, enum from from,
		 const char *file)
{
	if (w->is_dry)
		(void)printf("source %s\nlock %s\nversioned %s\nbuild %s\n%s", t->source,
			     t->lock, t->versioned, from_names[from], file);
	else if (!w->is_quiet && from == FROM_NOTHING)
		(void)fprintf(stderr, "hutch: %s is there\n", t->source);
	else if (!w->is_quiet)
		(void)fprintf(stderr, "hutch: building %s from %s\n", t->source,
			      from_names[from]);
}

static int build(const struct wish *w, const char *file, const struct list *tags,
		 struct err *e)
{
	const struct build_options options = { .context = w->runtime.project,
					       .file = "runtime Dockerfile",
					       .text = file,
					       .ignored = IGNORED,
					       .tags = *tags,	      /* borrowed */
					       .network = w->network, /* borrowed */
					       .is_quiet = w->is_quiet };
	struct digest image;

	return build_image(&options, &image, e);
}

static int make(const struct wish *w, struct err *e)
{
	struct runtime_tags tags = { 0 };
	struct list free_tags = { 0 };
	enum from from;

	int rc = runtime_tags_make(&w->runtime, &tags, e);
	if (rc == 0)
		rc = decide(w, &tags, &from, &free_tags, e);
	if (rc == 0) {
		AUTO_FREE char *file = from == FROM_NOTHING ? text_copy("") :
							      make_file(w, &tags, from);
		tell(w, &tags, from, file);
		if (!w->is_dry && from != FROM_NOTHING)
			rc = build(w, file, &free_tags, e);
		if (!w->is_dry && rc == 0)
			(void)printf("%s\n", tags.source);
	}
	list_done(&free_tags);
	runtime_tags_done(&tags);
	return rc;
}

static int checked(struct wish *w)
{
	struct err e = { 0 };
	int rc = build_check_network(&w->network, &e);

	if (rc == 0 && (strpbrk(w->runtime.base, " \t\n") || !*w->runtime.base))
		rc = err_set(&e, ERR_USAGE, "'%.100s' is no image", w->runtime.base);
	if (rc == 0)
		rc = make(w, &e);
	return report_end(rc, &e);
}

/* Returns the options for the image that OpenHands itself would build. */
static struct wish usual_wish(void)
{
	const char *repository = getenv("OH_RUNTIME_RUNTIME_IMAGE_REPO");
	const bool has_repository = repository && *repository;

	return (struct wish){ .runtime = { .base = BASE,
					   .repository = has_repository ? repository
									: REPOSITORY } };
}

int image_runtime_build_main(char **argv)
{
	struct wish w = usual_wish();
	const struct flag flags[] = {
		{ 0, "base", "REF", "the image it begins with: man hutch-image", NULL,
		  &w.runtime.base },
		{ 0, "repo", "NAME", "of tags (default " REPOSITORY ")", NULL,
		  &w.runtime.repository },
		{ 0, "oh-version", "VERSION", "of OpenHands (default: pyproject.toml's)",
		  NULL, &w.runtime.version },
		{ 0, "extra-deps", "CMD", "runtime_extra_deps: run last", NULL,
		  &w.extra },
		{ 0, "setup", "CMD", "in place of the apt-get of a whole build", NULL,
		  &w.setup },
		{ 0, "install", "CMD", "in place of pip and poetry", NULL, &w.install },
		{ 0, "no-browser", NULL, "without a browser", &w.runtime.has_no_browser,
		  NULL },
		{ 0, "force", NULL, "from scratch, whatever there is", &w.is_forced,
		  NULL },
		{ 0, "dry-run", NULL, "print the tags and the Dockerfile", &w.is_dry,
		  NULL },
		{ 0, "network", "MODE", "none (default), allow, host or ns:PATH", NULL,
		  &w.network.mode },
		{ 0, "allow", "HOST[:PORT]...", "a host that a RUN may connect to", NULL,
		  &w.network.allow },
		{ 0, "add-host", "NAME:ADDRESS...", "a line of /etc/hosts in each RUN",
		  NULL, &w.network.add_hosts },
		{ 'q', "quiet", NULL, "print the source tag alone", &w.is_quiet, NULL },
	};
	const struct usage usage = {
		.synopsis = "hutch image runtime-build [OPTIONS] PROJECT",
		.about =
			"Builds OpenHands' runtime image, as little of it as its tags allow.",
		.flags = flags,
		.count = ARRAY_LEN(flags),
		.operands_min = 1,
		.operands_max = 1,
	};
	const enum flags_result read = flags_begin(argv, &usage);

	w.runtime.project = argv[0];
	int code = read == FLAGS_HELP ? 0 : read == FLAGS_READ ? checked(&w) : EXIT_HUTCH;
	build_network_done(&w.network);
	return code;
}
