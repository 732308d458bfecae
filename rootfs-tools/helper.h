/* helper -- a program that keeps credentials, asked for one: docker-credential-NAME get.
 *
 * It is the user's own, found on PATH, and has the user's stderr, on which it may say
 * what is wrong; it may ask the user something in a window, so that it has a minute. */
#pragma once
#include <stddef.h>

struct err;

#define HELPER_SECONDS 60

/* Gives it `text` on its stdin.  1: *ret (allocated, with a 0 behind it) is what it
 * printed, at most `max` bytes.  0: it ended with another code than 0 and said that it
 * has no such credentials.  `name` must be of A-Z a-z 0-9 . _ - only. */
int helper_get(const char *name, const char *text, size_t max, char **ret,
	       size_t *ret_len, struct err *e);
