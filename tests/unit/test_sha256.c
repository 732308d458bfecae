/* sha256: gives the results of the examples of FIPS 180-4 and NIST, in pieces of any
 * size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/own.h"
#include "store/sha256.h"

static const struct {
	const char *text, *hex;
} known[] = {
	{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
	{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
	{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
	  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
	{ "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmno"
	  "ijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
	  "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1" },
};

static void test_known_texts(void **state)
{
	struct digest d;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		sha256_bytes(known[i].text, strlen(known[i].text), &d);
		assert_string_equal(d.hex, known[i].hex);
	}
}

static void test_a_million_letters(void **state)
{
	uint8_t letters[1000];
	struct sha256 h;
	struct digest d;

	(void)state;
	memset(letters, 'a', sizeof(letters));
	sha256_begin(&h);
	for (int i = 0; i < 1000; i++)
		sha256_add(&h, letters, sizeof(letters));
	sha256_end(&h, &d);
	assert_string_equal(
		d.hex,
		"cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* For any length the digest is the same, wherever the text is cut into two pieces. */
static void test_pieces_give_the_same_as_the_whole(void **state)
{
	uint8_t bytes[300];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7);
	for (size_t len = 0; len <= sizeof(bytes); len++)
		for (size_t piece = 1; piece < 140; piece += 13) {
			struct digest whole, pieces;
			struct sha256 h;
			sha256_bytes(bytes, len, &whole);
			sha256_begin(&h);
			for (size_t at = 0; at < len; at += piece)
				sha256_add(&h, bytes + at,
					   len - at < piece ? len - at : piece);
			sha256_end(&h, &pieces);
			assert_string_equal(whole.hex, pieces.hex);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_texts),
		cmocka_unit_test(test_a_million_letters),
		cmocka_unit_test(test_pieces_give_the_same_as_the_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
