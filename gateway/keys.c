#include "gateway/keys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/hex.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "base/regular.h"
#include "rootfs-tools/layers/hash.h"

#define BLOCK	 64 /* bytes, of SHA-256 */
#define TEXT_MAX 64

void keys_random(char *to, size_t count)
{
	unsigned char bytes[64];

	if (count / 2 > sizeof(bytes) ||
	    getrandom(bytes, count / 2, 0) != (ssize_t)(count / 2))
		abort(); /* the kernel gives up to 256 bytes at once */
	hex_encode(bytes, count / 2, to);
}

static int make(const char *path, char ret[KEYS_MAX + 1], struct err *e)
{
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	AUTO_FREE char *line = NULL;

	if (fd < 0)
		return err_sys(e, "make the key file %s", path);
	keys_random(ret, 64);
	if (asprintf(&line, "%s\n", ret) < 0 || io_write_all(fd, line, strlen(line)) < 0)
		return err_sys(e, "write the key file %s", path);
	return 0;
}

static int check(int fd, const char *path, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_sys(e, "key file %s", path);
	if (st.st_uid == geteuid() && !(st.st_mode & 077))
		return 0;
	(void)err_set(e, ERR_REFUSED,
		      "key file %s: other users may read it, or it is not yours", path);
	return st.st_uid == geteuid() ? err_remedy(e, "chmod 600 %s", path) : -1;
}

int keys_load(const char *path, char ret[KEYS_MAX + 1], struct err *e)
{
	AUTO_FREE char *text = NULL, *about = text_format("key file %s", path);
	AUTO_CLOSE int fd = regular_open(AT_FDCWD, path, O_NOFOLLOW, about, e);
	size_t len;

	if (fd < 0)
		return e->sys == ENOENT ? make(path, ret, e) : -1;
	if (check(fd, path, e) < 0 || io_read_file(fd, path, 4096, &text, &len, e) < 0)
		return -1;
	text[strcspn(text, "\r\n")] = '\0';
	len = strlen(text);
	if (len < KEYS_MIN || len > KEYS_MAX)
		return err_set(e, ERR_USAGE,
			       "key file %s: the key must have %d to %d characters", path,
			       KEYS_MIN, KEYS_MAX);
	memcpy(ret, text, len + 1);
	return 0;
}

void keys_digest(const void *bytes, size_t len, unsigned char ret[KEYS_DIGEST])
{
	struct digest d;

	hash_bytes(bytes, len, &d);
	for (size_t i = 0; i < KEYS_DIGEST; i++) {
		unsigned byte = 0;
		(void)sscanf(d.hex + 2 * i, "%2x",
			     &byte); /* they are hexadecimal digits */
		ret[i] = (unsigned char)byte;
	}
}

/* HMAC with SHA-256 (RFC 2104). */
static void authenticate(const char *key, const char *text,
			 unsigned char ret[KEYS_DIGEST])
{
	unsigned char pad[BLOCK] = { 0 }, inner[BLOCK + TEXT_MAX],
		      outer[BLOCK + KEYS_DIGEST];
	const size_t key_len = strlen(key), len = strlen(text);

	if (key_len > BLOCK)
		keys_digest(key, key_len, pad);
	else
		memcpy(pad, key, key_len);
	for (size_t i = 0; i < BLOCK; i++) {
		inner[i] = pad[i] ^ 0x36;
		outer[i] = pad[i] ^ 0x5c;
	}
	memcpy(inner + BLOCK, text, len);
	keys_digest(inner, BLOCK + len, outer + BLOCK);
	keys_digest(outer, sizeof(outer), ret);
}

void keys_of_box(const char *key, const char *id, unsigned epoch, char ret[KEYS_BOX])
{
	unsigned char digest[KEYS_DIGEST];
	char text[TEXT_MAX];

	(void)snprintf(text, sizeof(text), "box %.32s %u", id, epoch);
	authenticate(key, text, digest);
	hex_encode(digest, sizeof(digest), ret);
}

bool keys_equal(const char *given, const char *key)
{
	const size_t len = strlen(key);
	volatile unsigned char differs = 0;

	if (!given || strlen(given) != len)
		return false;
	for (size_t i = 0; i < len; i++)
		differs |= (unsigned char)(given[i] ^ key[i]);
	return differs == 0;
}
