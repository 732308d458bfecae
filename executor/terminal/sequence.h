/* sequence -- a parser for control sequences in programs' output (ECMA-48, with the
 * extensions of common terminals).
 *
 * It reads one byte at a time, and returns whole sequences, bounded and with their
 * parameters as numbers.  Strings (OSC, DCS, APC, PM, SOS: titles, links, pictures) are
 * skipped, however long they are.  They end with ST, with BEL, or with the next control
 * character but a tab: an unterminated string must not swallow all output after it. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define SEQUENCE_ARGS	 16
#define SEQUENCE_ARG_MAX 9999 /* a larger number is read as this one */
#define SEQUENCE_NO_ARG	 UINT16_MAX

enum sequence_kind {
	SEQUENCE_NONE,	 /* no sequence is open */
	SEQUENCE_OPEN,	 /* the sequence needs more bytes */
	SEQUENCE_ESCAPE, /* complete: ESC, `between` or 0, `final` */
	SEQUENCE_CSI,	 /* complete: CSI, `leader` or 0, `args`, `between` or 0,
			  * `final` */
	SEQUENCE_DROPPED, /* a string or an unknown sequence has ended, and has no
			   * effect */
	SEQUENCE_CONTROL, /* the byte is a control character within a sequence */
	SEQUENCE_BROKEN	 /* the byte ended a sequence that it does not belong to */
};

/* A zeroed struct has read no byte. */
struct sequence {
	uint8_t state;
	uint8_t leader, between, final;
	bool is_strange; /* the sequence is too long, or of an unsupported form */
	uint8_t count;	 /* how many of `args` are set */
	uint16_t args[SEQUENCE_ARGS];
};

static inline bool sequence_is_open(const struct sequence *q)
{
	return q->state != 0;
}

/* Adds a byte: ESC first, and then each byte while the sequence is open. The result tells
 * the caller how to treat the byte. */
enum sequence_kind sequence_add(struct sequence *q, uint8_t byte);

/* Returns argument `i`; `absent` if the sequence does not have the argument. */
unsigned sequence_arg(const struct sequence *q, unsigned i, unsigned absent);
