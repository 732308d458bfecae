/* digest -- the names of blobs: "sha256:" and 64 hexadecimal digits (OCI image
 * specification 1.1, "Descriptor": digests).
 *
 * Other algorithms are refused: everything in the store is checked by SHA-256. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct err;

#define DIGEST_HEX  64
#define DIGEST_TEXT (7 + DIGEST_HEX + 1) /* size of the text "sha256:HEX", with its 0 */

/* The zero object is no digest. */
struct digest {
	char hex[DIGEST_HEX + 1]; /* lower case */
};

/* Reads "sha256:HEX"; upper case, another length or algorithm is ERR_USAGE. */
int digest_parse(const char *text, struct digest *ret, struct err *e);

/* Returns whether `hex` is 64 lower-case hexadecimal digits, as in the names of the
 * store's files. */
bool digest_is_hex(const char *hex);

/* Writes the digest as "sha256:HEX" and a 0. */
void digest_print(const struct digest *d, char ret[DIGEST_TEXT]);

bool digest_equal(const struct digest *a, const struct digest *b);
