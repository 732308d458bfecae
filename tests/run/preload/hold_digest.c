/* hold_digest -- a library for LD_PRELOAD that holds a program at the end of its first
 * digest, until the FIFO that $HOLD_FIFO names has had a writer. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* The program's own prototype has OpenSSL's types, which this file does without. */
int EVP_DigestFinal_ex(void *context, unsigned char *ret, unsigned *ret_len);

int EVP_DigestFinal_ex(void *context, unsigned char *ret, unsigned *ret_len)
{
	int (*next)(void *, unsigned char *, unsigned *);
	const char *fifo = getenv("HOLD_FIFO");

	if (fifo) {
		(void)close(open(fifo, O_RDONLY | O_CLOEXEC)); /* waits for a writer */
		(void)unsetenv("HOLD_FIFO");
	}
	*(void **)&next = dlsym(RTLD_NEXT, "EVP_DigestFinal_ex");
	return next(context, ret, ret_len);
}
