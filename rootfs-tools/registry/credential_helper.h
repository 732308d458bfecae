/* credential_helper -- asks a credential helper: docker-credential-NAME get.
 *
 * The helper is the user's own program, found on PATH.  It shares the user's
 * stderr for its messages, and it may ask the user something in a window, so it
 * has a minute. */
#pragma once
#include <stddef.h>

struct err;

#define CREDENTIAL_HELPER_SECONDS 60

/* Runs a helper and gives it `text` on its stdin.  Returns 1 if *ret (allocated, with
 * a 0 byte after it) is the helper's output, at most `max` bytes.  Returns 0 if the
 * helper failed and said that it has no such credentials.  `name` may have only A-Z
 * a-z 0-9 . _ - */
int credential_helper_get(const char *name, const char *text, size_t max, char **ret,
	       size_t *ret_len, struct err *e);
