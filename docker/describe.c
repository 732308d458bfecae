#include "docker/describe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/own.h"
#include "base/term_escape.h"
#include "docker/container.h"
#include "docker/template.h"
#include "docker/tree.h"
#include "docker/verb.h"

char *describe_ask(const struct list *words, struct json_view *ret, struct err *e)
{
	char *text = NULL;

	int code = verb_run(words, VERB_KEEP, &text, e);
	/* `hutch inspect` fails if one of its names is gone, and prints the others. */
	if (code >= 0 && json_view_scan(ret, text, strlen(text), e) == 0)
		return text;
	if (code > 0)
		(void)err_set(e, ERR_SYSTEM, "hutch %s failed", words->items[0]);
	free(text);
	return NULL;
}

/* Gives the only item of an array. */
static char *only_item(const struct list *words, struct json_view *ret, struct err *e)
{
	struct json_view_place place = { 0 };
	struct json_view array;

	char *text = describe_ask(words, &array, e);
	if (text && json_view_step(array, &place)) {
		*ret = place.value;
		return text;
	}
	if (text)
		(void)err_set(e, ERR_NOT_FOUND, "No such object: %.100s",
			      words->items[words->count - 1]);
	free(text);
	return NULL;
}

char *describe_info(const char *word, struct json_view *ret, struct err *e)
{
	struct list words = { 0 };
	struct container c;

	if (container_find(word, &c, e) < 0)
		return NULL;
	list_add(&words, "inspect");
	list_add(&words, container_word(&c));
	char *text = only_item(&words, ret, e);
	list_done(&words);
	return text;
}

static bool has_image(const char *word, struct err *e)
{
	struct list words = { 0 };

	list_add(&words, "image");
	list_add(&words, "exists");
	list_add(&words, word);
	int code = word[0] == '-' ? 1 : verb_run(&words, VERB_DROP, NULL, e);
	list_done(&words);
	if (code == 1)
		(void)err_set(e, ERR_NOT_FOUND, "No such image: %.100s", word);
	else if (code > 0)
		(void)err_set(e, ERR_SYSTEM, "hutch image exists failed");
	return code == 0;
}

char *describe_image_info(const char *word, struct json_view *ret, struct err *e)
{
	struct list words = { 0 };

	if (!has_image(word, e))
		return NULL;
	list_add(&words, "image");
	list_add(&words, "inspect");
	list_add(&words, word);
	char *text = only_item(&words, ret, e);
	list_done(&words);
	return text;
}

char *describe_container(const char *word, bool has_labels, struct err *e)
{
	struct json_view info, of_image = { 0 };
	struct err why;

	AUTO_FREE char *text = describe_info(word, &info, e);
	if (!text)
		return NULL;
	AUTO_FREE char *image = json_view_string(json_view_get(info, "image"));
	const bool is_stored = image && strcmp(image, "host") != 0 &&
			       strncmp(image, "dir:", 4) != 0;
	/* An image that is gone has no labels any more. */
	AUTO_FREE char *known = has_labels && is_stored
					? describe_image_info(image, &of_image, &why)
					: NULL;
	return tree_container(
		info, known ? json_view_get(of_image, "configuration.config.Labels")
			    : of_image);
}

char *describe_image(const char *word, struct err *e)
{
	struct json_view info;
	AUTO_FREE char *text = describe_image_info(word, &info, e);

	return text ? tree_image(info) : NULL;
}

/* Whether the word has the form of an id: 12 digits, as lists have it, to 64. */
static bool is_id(const char *word)
{
	const char *digits = strncmp(word, "sha256:", 7) ? word : word + 7;
	const size_t len = strspn(digits, "0123456789abcdef");

	return len >= 12 && len <= 64 && !digits[len];
}

char *describe_reference(const char *word)
{
	struct json_view info;
	struct err none;

	AUTO_FREE char *text = is_id(word) ? describe_image_info(word, &info, &none)
					   : NULL;
	AUTO_FREE char *digest = text ? json_view_string(json_view_get(info, "digest"))
				      : NULL;
	/* The store finds an image by its digest, whatever stands in front of that. */
	return digest ? text_format("image@%s", digest) : NULL;
}

int describe_by_template(const char *object, const char *format, struct err *e)
{
	struct json_view view;
	struct buffer out;

	if (!strcmp(format, "json")) {
		describe_print(object);
		return 0;
	}
	if (json_view_scan(&view, object, strlen(object), e) < 0)
		return -1;
	json_write_begin(&out);
	int rc = template_run(format, view, &out, e);
	AUTO_FREE char *text = json_write_end(&out);
	if (rc < 0)
		return err_in(e, "template parsing error");
	describe_print(text);
	return 0;
}

void describe_print(const char *text)
{
	struct buffer b;

	if (!isatty(STDOUT_FILENO)) {
		(void)puts(text);
		return;
	}
	buffer_init(&b, 5 * strlen(text) + 1);
	term_escape_append(&b, text, strlen(text));
	(void)fwrite(buffer_data(&b), 1, buffer_len(&b), stdout);
	(void)putchar('\n');
	buffer_done(&b);
}
