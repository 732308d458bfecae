/* keys -- the secrets of hutch-serve: the operator's key, and one for each sandbox.
 *
 * The key of a sandbox is an HMAC of its id under the operator's key, so that it need not be
 * kept, and holds after a restart of the server; a new `epoch`, a number, makes another one. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct err;

#define KEYS_MIN 16 /* characters of the operator's key */
#define KEYS_MAX 128
#define KEYS_DIGEST 32 /* bytes of a SHA-256 */
#define KEYS_BOX 65 /* bytes of a sandbox's key, with its NUL */

/* Reads the key from the file `path`, which must be ours and closed to others; its line end
 * does not count.  A file that is absent is made, 0600, with a random key. */
int keys_load(const char *path, char ret[KEYS_MAX + 1], struct err *e);

/* Writes random hexadecimal digits, `count` of them and a NUL. */
void keys_random(char *to, size_t count);

/* Writes the SHA-256 of some bytes. */
void keys_digest(const void *bytes, size_t len, unsigned char ret[KEYS_DIGEST]);

void keys_of_box(const char *key, const char *id, unsigned epoch, char ret[KEYS_BOX]);

/* Compares in a time that does not tell where they differ.  NULL equals nothing. */
bool keys_equal(const char *given, const char *key);
