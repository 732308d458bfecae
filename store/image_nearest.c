#include "store/image_nearest.h"

#include <string.h>

#include "store/refs.h"

/* Prints the reference as people write it; without its version, if that is not to be
 * compared. */
static void print(const struct image_nearest *n, struct reference r, char ret[REFERENCE_MAX])
{
	if (!n->has_version) {
		strcpy(r.tag, "latest"); /* reference_print_short() leaves it out */
		r.pin = (struct digest){ 0 };
	}
	reference_print_short(&r, ret);
}

void image_nearest_init(struct image_nearest *n, const char *text)
{
	struct reference r;

	*n = (struct image_nearest){ 0 };
	if (reference_parse(text, &r, NULL) < 0)
		return;
	n->has_version = r.pin.hex[0] || strcmp(r.tag, "latest") != 0;
	print(n, r, n->word);
	nearest_init(&n->nearest, n->word, strlen(n->word));
}

void image_nearest_try(struct image_nearest *n, const struct reference *r)
{
	char compared[REFERENCE_MAX], whole[REFERENCE_MAX];

	reference_print_short(r, whole);
	if (!n->word[0] || strlen(whole) > NEAREST_MAX || !strcmp(r->registry, REFERENCE_BUILDS))
		return;
	print(n, *r, compared);
	const bool is_known = !strcmp(n->nearest.name, compared);
	nearest_try(&n->nearest, compared);
	if (!is_known && !strcmp(n->nearest.name, compared))
		strcpy(n->name, whole);
}

int image_nearest_suggest(struct image_nearest *n, struct err *e)
{
	const bool is_itself = !strcmp(n->name, n->word);

	strcpy(n->nearest.name, is_itself ? "" : n->name);
	return nearest_suggest(&n->nearest, "", e);
}

static void take(void *context, const struct reference *r, const struct digest *image)
{
	(void)image;
	image_nearest_try(context, r);
}

int image_nearest_in(const struct store *s, const char *text, struct err *e)
{
	struct image_nearest n;

	image_nearest_init(&n, text);
	(void)refs_each(s, take, &n, NULL); /* without names there is no suggestion */
	return image_nearest_suggest(&n, e);
}
