/* A recipe from the store, with untrusted values; and a reference from a user
 * or a Dockerfile.  An accepted text is the same when it is written and read
 * again, and a reference has no character with a meaning for a shell, a
 * terminal or a path. */
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/err.h"
#include "store/launch_config.h"
#include "store/reference.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void claim(int is_so)
{
	if (!is_so)
		abort();
}

static void read_recipe(const char *text, size_t len)
{
	struct launch_config r, again;
	struct buffer b, b2;
	struct err e = { 0 };

	if (launch_config_parse(text, len, &r, &e) < 0) {
		claim(e.text[0]);
		return;
	}
	buffer_init(&b, LAUNCH_CONFIG_MAX);
	buffer_init(&b2, LAUNCH_CONFIG_MAX);
	/* An accepted recipe may be too long once its defaults are written out. */
	if (launch_config_print(&r, &b, &e) == 0) {
		claim(launch_config_parse((const char *)buffer_data(&b), buffer_len(&b),
					  &again, &e) == 0);
		claim(launch_config_print(&again, &b2, &e) == 0 &&
		      buffer_len(&b) == buffer_len(&b2) &&
		      !memcmp(buffer_data(&b), buffer_data(&b2), buffer_len(&b)));
		launch_config_done(&again);
	}
	buffer_done(&b);
	buffer_done(&b2);
	launch_config_done(&r);
}

static void read_reference(const char *text, size_t len)
{
	char *word = malloc(len + 1);
	char whole[REFERENCE_MAX], brief[REFERENCE_MAX], again[REFERENCE_MAX];
	struct reference r, r2;
	struct err e = { 0 };

	claim(word != NULL);
	memcpy(word, text, len);
	word[len] = '\0';
	if (reference_parse(word, &r, &e) == 0) {
		reference_print(&r, whole);
		reference_print_short(&r, brief);
		claim(reference_parse(whole, &r2, &e) == 0);
		reference_print(&r2, again);
		claim(!strcmp(whole, again));
		claim(reference_parse(brief, &r2, &e) == 0);
		reference_print(&r2, again);
		claim(!strcmp(whole, again) && whole[0] != '/');
		/* A tag may have several dots in a row; it is the end of a name. */
		claim(!strstr(r.registry, "..") && !strstr(r.repository, ".."));
		claim(!whole[strspn(whole,
				    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789._-/:@[]")]);
	} else {
		claim(e.text[0]);
	}
	free(word);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	char *text = malloc(size);
	claim(text != NULL);
	memcpy(text, data + 1, size - 1);
	if (data[0] % 2)
		read_recipe(text, size - 1);
	else
		read_reference(text, size - 1);
	free(text);
	return 0;
}
