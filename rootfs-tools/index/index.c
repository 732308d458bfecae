/* Implements a part of images.h: chooses one of the manifests in an index. */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/err.h"
#include "base/own.h"
#include "policy/json/json.h"
#include "rootfs-tools/index/document.h"

/* --- platforms ----------------------------------------------------------------- */

void platform_here(struct platform *ret)
{
	static const struct {
		const char *machine, *architecture;
	} known[] = {
		{ "x86_64", "amd64" }, { "aarch64", "arm64" },
	};
	struct utsname here;

	*ret = (struct platform){ .os = "linux" };
	if (uname(&here) < 0)
		return; /* uname(2) cannot fail with a valid buffer */
	(void)snprintf(ret->architecture, sizeof(ret->architecture), "%.31s",
		       here.machine);
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (!strcmp(here.machine, known[i].machine))
			(void)snprintf(ret->architecture, sizeof(ret->architecture), "%s",
				       known[i].architecture);
}

/* Copies one part of a platform's text, up to a slash or the end; returns the part's
 * end, or NULL. */
static const char *platform_part(const char *at, char ret[32])
{
	size_t len = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789_.-");

	if (!len || len >= 32 || (at[len] && at[len] != '/'))
		return NULL;
	(void)snprintf(ret, 32, "%.*s", (int)len, at);
	return at + len + (at[len] == '/');
}

int platform_parse(const char *text, struct platform *ret, struct err *e)
{
	struct platform p = { 0 };
	const char *at = platform_part(text, p.os);

	if (at)
		at = platform_part(at, p.architecture);
	if (at && *at)
		at = platform_part(at, p.variant);
	if (!at || *at || text[strlen(text) - 1] == '/') {
		(void)err_set(e, ERR_USAGE, "'%.60s' is no platform", text);
		return err_remedy(e, "OS/ARCHITECTURE[/VARIANT], such as linux/amd64 or "
				     "linux/arm64/v8");
	}
	*ret = p;
	return 0;
}

/* Returns the variant of an architecture, "" for the first one: "arm64" and "arm64/v8"
 * mean the same. */
static const char *variant_of(const char *architecture, const char *variant)
{
	bool is_first = (!strcmp(architecture, "arm64") && !strcmp(variant, "v8")) ||
			(!strcmp(architecture, "amd64") && !strcmp(variant, "v1"));

	return is_first ? "" : variant;
}

static bool platform_fits(const struct platform *wanted, const struct platform *is)
{
	return !strcmp(wanted->os, is->os) &&
	       !strcmp(wanted->architecture, is->architecture) &&
	       !strcmp(variant_of(wanted->architecture, wanted->variant),
		       variant_of(is->architecture, is->variant));
}

/* Reads the platform of an entry of an index; the platform is empty if the entry has
 * none. */
static int platform_read(const struct json_at *entry, struct platform *ret, struct err *e)
{
	struct json_at at = { 0 }, part = { 0 };
	const struct {
		const char *key;
		char *to;
	} parts[] = { { "os", ret->os }, { "architecture", ret->architecture },
		      { "variant", ret->variant } };
	const char *text;

	*ret = (struct platform){ 0 };
	if (!json_member(entry, "platform", &at))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (!json_member(&at, parts[i].key, &part))
			continue;
		if (json_string(&part, &text, e) < 0)
			return -1;
		(void)snprintf(parts[i].to, 32, "%.31s", text);
	}
	return 0;
}

/* --- names of an index's entries ---------------------------------------------------- */

/* Returns the value of an annotation of an entry, or NULL. */
static const char *annotation(const struct json_at *entry, const char *key)
{
	struct json_at all = { 0 }, at = { 0 };
	const char *text;

	if (!json_member(entry, "annotations", &all) || json_type(&all) != JSON_OBJECT ||
	    !json_member(&all, key, &at) || json_string(&at, &text, NULL) < 0)
		return NULL;
	return text;
}

/* Returns whether `tag` is the whole of `name` or the part after the last colon of
 * `name`. */
static bool is_named(const char *name, const char *tag)
{
	const char *colon = name ? strrchr(name, ':') : NULL;

	return name && (!strcmp(name, tag) || (colon && !strcmp(colon + 1, tag)));
}

/* --- index --------------------------------------------------------------------- */

struct choice {
	const struct platform *wanted;
	const char *tag; /* the tag that was asked for, or NULL */
	bool any_name;
	struct descriptor *found;
	enum { FOUND_NONE, FOUND_UNNAMED, FOUND_FITTING } how;
	char name[REFERENCE_MAX]; /* the chosen entry's name, or ""; if the entries have
				   * several names, the first one */
	bool has_several;	  /* several entries fit, and have different names */
	char there[300], names[300]; /* lists for error messages */
};

static void add_word(char words[300], const char *word)
{
	size_t len = strlen(words);

	(void)snprintf(words + len, 300 - len, "%s%s", len ? ", " : "", word);
}

/* Adds the entry's platform to the list for error messages.  An entry with the platform
 * "unknown" is skipped: it holds attestations, no image. */
static void remember(struct choice *c, const struct platform *is)
{
	char text[100];

	(void)snprintf(text, sizeof(text), "%s/%s%s%s", is->os, is->architecture,
		       is->variant[0] ? "/" : "", is->variant);
	if (is->os[0] && strcmp(is->os, "unknown"))
		add_word(c->there, text);
}

/* Returns whether the entry has the wanted name.  Also records the name for error
 * messages. */
static bool fits_tag(struct choice *c, const struct json_at *entry)
{
	const char *name = annotation(entry, INDEX_NAME);
	const char *whole = annotation(entry, INDEX_WHOLE_NAME);
	const char *best = whole ? whole : name;

	if (best)
		add_word(c->names, best);
	if (c->tag && !is_named(name, c->tag) && !is_named(whole, c->tag))
		return false;
	if (best && c->name[0] && strcmp(best, c->name))
		c->has_several = !c->any_name;
	if (best && !c->name[0])
		(void)snprintf(c->name, sizeof(c->name), "%.255s", best);
	return true;
}

static int consider(struct choice *c, const struct json_at *entry, struct err *e)
{
	struct descriptor d;
	struct platform is;

	if (document_descriptor(entry, &d, e) < 0 || platform_read(entry, &is, e) < 0)
		return -1;
	enum role role = document_role(d.media_type);
	if ((role != ROLE_MANIFEST && role != ROLE_INDEX) || !fits_tag(c, entry))
		return 0;
	remember(c, &is);
	if (platform_fits(c->wanted, &is) && c->how != FOUND_FITTING) {
		*c->found = d;
		c->how = FOUND_FITTING;
	} else if (!is.os[0] && c->how == FOUND_NONE) {
		*c->found = d;
		c->how = FOUND_UNNAMED;
	}
	return 0;
}

static int judge(const struct choice *c, struct err *e)
{
	const struct platform *p = c->wanted;

	if (c->how != FOUND_NONE && !c->has_several)
		return 0;
	if (c->has_several) {
		(void)err_set(e, ERR_USAGE, "there are several images: %s", c->names);
		return err_remedy(e, "PATH:TAG takes one of them");
	}
	if (c->tag && !c->there[0])
		return err_set(e, ERR_NOT_FOUND, "there is no image '%.100s', but: %s",
			       c->tag, c->names[0] ? c->names : "none with a name");
	return err_set(e, ERR_NOT_FOUND, "there is no image for %s/%s%s%s here, but: %s",
		       p->os, p->architecture, p->variant[0] ? "/" : "", p->variant,
		       c->there[0] ? c->there : "none");
}

static int index_read(const struct json_at *root, struct choice *c, struct err *e)
{
	enum document_kind kind;
	struct json_at list, at = { 0 };

	if (document_kind_of(root, NULL, &kind, e) < 0)
		return -1;
	if (kind != DOCUMENT_INDEX)
		return err_set(e, ERR_PROTOCOL,
			       "it is a manifest, where an index has to be");
	if (document_need(root, "manifests", &list, e) < 0 ||
	    json_expect(&list, JSON_ARRAY, e) < 0)
		return -1;
	while (json_step(&list, &at))
		if (consider(c, &at, e) < 0)
			return -1;
	return judge(c, e);
}

static int choose(const char *text, size_t len, struct choice *c, struct err *e)
{
	AUTO_JSON struct json *doc = json_parse(text, len, e);
	struct json_at root;

	if (!doc)
		return err_in(e, "the index");
	json_root(doc, "index", &root);
	return index_read(&root, c, e);
}

int index_choose(const char *text, size_t len, const struct platform *p,
		 struct descriptor *ret, struct err *e)
{
	struct platform here;
	struct descriptor found = { 0 };
	struct choice c = { .wanted = p ? p : &here, .found = &found, .any_name = true };

	platform_here(&here);
	if (choose(text, len, &c, e) < 0)
		return -1;
	*ret = found;
	return 0;
}

int index_choose_named(const char *text, size_t len, const char *tag,
		       char ret_name[REFERENCE_MAX], struct descriptor *ret,
		       struct err *e)
{
	struct platform here;
	struct descriptor found = { 0 };
	struct choice c = { .wanted = &here, .tag = tag, .found = &found };

	platform_here(&here);
	if (choose(text, len, &c, e) < 0)
		return -1;
	memcpy(ret_name, c.name, sizeof(c.name));
	*ret = found;
	return 0;
}
