/* hex -- bytes as hexadecimal digits, which are written in lower case. */
#pragma once
#include <stddef.h>

struct err;

/* Writes two digits for each byte, and a NUL. */
void hex_encode(const void *bytes, size_t len, char *ret);

/* Returns the value of one digit of either case; -1: it is no digit. */
int hex_value(char digit);

#define HEX_RANDOM_MAX 32

/* Writes random digits and a NUL, for a name that is in use nowhere yet.  `count` is
 * even, and HEX_RANDOM_MAX at most. */
int hex_random(char *ret, size_t count, struct err *e);
