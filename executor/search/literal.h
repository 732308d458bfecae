/* literal -- a literal text that every match of a pattern contains.
 *
 * literal_find() looks for the literal's two rarest bytes, with vectors of sixteen
 * bytes: in a text of C sources musl's memmem() took 3 to 16 times as long. ASCII
 * letters may match in either case. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LITERAL_MAX 32

struct pattern;

struct literal {
	uint8_t bytes[LITERAL_MAX]; /* the literal; byte i of the text matches if (byte |
				     * masks[i]) == bytes[i] */
	uint8_t masks[LITERAL_MAX]; /* 0x20 for a letter that matches in either case,
				     * else 0 */
	size_t len;		   /* the length; 0: the pattern has no useful literal */
	size_t rare, other;	   /* indices in `bytes` of the two rarest bytes */
	bool is_all;		   /* every line that contains the literal matches */
};

void literal_init(struct literal *n, const struct pattern *p);

/* Returns the first occurrence in the text, or NULL. The literal must not be empty. */
const uint8_t *literal_find(const struct literal *n, const uint8_t *at,
			    const uint8_t *end);
