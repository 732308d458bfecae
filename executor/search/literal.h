/* literal -- a literal that every match of a pattern contains.
 *
 * It is found by its two rarest bytes, sixteen places at a time: in a text of C sources
 * musl's memmem() took 3 to 16 times as long.  ASCII letters may match in either
 * case. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LITERAL_MAX 32

struct pattern;

struct literal {
	uint8_t bytes[LITERAL_MAX]; /* to compare with a text's bytes after `| masks` */
	uint8_t masks[LITERAL_MAX]; /* 0x20 where case does not matter, else 0 */
	size_t len;		   /* the length; 0: the pattern has no useful literal */
	size_t rare, other;	   /* indices in `bytes` of the two rarest bytes */
	bool is_all;		   /* every line that contains the literal matches */
};

void literal_init(struct literal *n, const struct pattern *p);

/* Returns the first occurrence in the text, or NULL. The literal must not be empty. */
const uint8_t *literal_find(const struct literal *n, const uint8_t *at,
			    const uint8_t *end);
