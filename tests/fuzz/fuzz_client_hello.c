/* The first flight of TLS: a name is printable and ends; a hello that is read from its
 * bytes is read the same from its bytes in records of another size, which is how the
 * guest may send it; no prefix gives another name. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "egress/client_hello.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void claim(int is_so)
{
	if (!is_so)
		abort();
}

static void check_text(const char *text, size_t room)
{
	size_t len = strnlen(text, room);

	claim(len < room);
	for (size_t i = 0; i < len; i++)
		claim(text[i] > ' ' && text[i] < 0x7f);
}

/* A hello in one record is split into two at `at`. */
static void check_split(const uint8_t *data, size_t size, const struct client_hello *h,
			size_t at)
{
	size_t whole = 5 + ((size_t)data[3] << 8 | data[4]);
	struct client_hello again;

	if (whole > size || at <= 5 || at >= whole || whole + 5 > CLIENT_HELLO_MAX)
		return;
	uint8_t *two = malloc(whole + 5);
	claim(two != NULL);
	memcpy(two, data, at);
	two[3] = (uint8_t)((at - 5) >> 8);
	two[4] = (uint8_t)(at - 5);
	memcpy(two + at, "\x16\3\1", 3);
	two[at + 3] = (uint8_t)((whole - at) >> 8);
	two[at + 4] = (uint8_t)(whole - at);
	memcpy(two + at + 5, data + at, whole - at);
	claim(client_hello_parse(two, whole + 5, &again) == HELLO_DONE);
	claim(strcmp(again.name, h->name) == 0 && strcmp(again.alpn, h->alpn) == 0);
	free(two);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct client_hello h = { 0 }, part;
	bool is_retry;

	(void)client_hello_is_retry(data, size, &is_retry);
	enum hello_verdict verdict = client_hello_parse(data, size, &h);
	claim(verdict <= HELLO_TOO_LARGE);
	claim(verdict != HELLO_NEED_MORE || size < CLIENT_HELLO_MAX);
	check_text(h.name, sizeof(h.name));
	check_text(h.alpn, sizeof(h.alpn));
	claim(h.has_name == (h.name[0] != 0));
	for (size_t len = 0; len < size; len += 1 + size / 16) {
		enum hello_verdict got = client_hello_parse(data, len, &part);
		/* A verdict that was given stays, whatever follows. */
		claim(got == HELLO_NEED_MORE || got == verdict);
		claim(got != HELLO_DONE || strcmp(part.name, h.name) == 0);
	}
	if (verdict == HELLO_DONE)
		for (size_t at = 6; at < size; at += 1 + size / 8)
			check_split(data, size, &h, at);
	return 0;
}
