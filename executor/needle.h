/* needle -- a literal that every match of a pattern contains.
 *
 * It is found by its two rarest bytes, sixteen places at a time: in a text of
 * C sources musl's memmem() took 3 to 16 times as long.  Letters of ASCII may be of
 * either case. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NEEDLE_MAX 32

struct pattern;

struct needle {
	uint8_t bytes[NEEDLE_MAX]; /* as they are after `| masks` */
	uint8_t masks[NEEDLE_MAX]; /* 0x20 where case does not matter, else 0 */
	size_t len;		   /* 0: there is none worth looking for */
	size_t rare, other;	   /* places of the two rarest */
	bool is_all;		   /* and what has it is a match */
};

void needle_init(struct needle *n, const struct pattern *p);

/* The first place where it is, or NULL.  The needle must not be empty. */
const uint8_t *needle_find(const struct needle *n, const uint8_t *at, const uint8_t *end);
