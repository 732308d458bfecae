/* sequence -- a parser for control sequences in programs' output (ECMA-48, with the
 * extensions of common terminals).
 *
 * It reads one byte at a time, and returns complete sequences of limited length, with
 * their parameters as numbers.  Control strings (OSC, DCS, APC, PM, SOS, which are for
 * titles, links, pictures) are skipped, however long they are.  They end with ST, with
 * BEL, or at the next control character except a tab, since an unterminated string must
 * not hide all output after it. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define SEQUENCE_ARGS	 16
#define SEQUENCE_ARG_MAX 9999 /* larger numbers are reduced to this one */
#define SEQUENCE_NO_ARG	 UINT16_MAX

enum sequence_kind {
	SEQUENCE_NONE,	 /* no sequence is open */
	SEQUENCE_OPEN,	 /* the sequence needs more bytes */
	SEQUENCE_ESCAPE, /* a complete escape sequence: ESC, an intermediate byte in
			  * `between` (0: none), and `final` */
	SEQUENCE_CSI,	 /* a complete CSI sequence: `leader` (0: none), `args`, `between`
			  * (0: none), and `final` */
	SEQUENCE_DROPPED, /* a control string or an unsupported sequence has ended; it has
			   * no effect */
	SEQUENCE_CONTROL, /* the byte is a control character within the sequence, to be
			   * executed at once */
	SEQUENCE_BROKEN	 /* the sequence was broken off by a byte that does not belong to
			  * it */
};

/* The parser's state; zeroed, no sequence is open. */
struct sequence {
	uint8_t state;
	uint8_t leader, between, final;
	bool is_strange; /* the sequence is too long, or of an unsupported form, and will
			  * be dropped */
	uint8_t count;	 /* how many of `args` are set */
	uint16_t args[SEQUENCE_ARGS];
};

static inline bool sequence_is_open(const struct sequence *q)
{
	return q->state != 0;
}

/* Adds a byte: first ESC, and then each byte as long as the sequence is open. The result
 * says what the byte has completed. */
enum sequence_kind sequence_add(struct sequence *q, uint8_t byte);

/* Returns argument `i`, or `absent` if the sequence does not have it. */
unsigned sequence_arg(const struct sequence *q, unsigned i, unsigned absent);
