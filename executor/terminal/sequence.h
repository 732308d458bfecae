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
#define SEQUENCE_ARG_MAX 9999 /* larger numbers become this */
#define SEQUENCE_NO_ARG	 UINT16_MAX

enum sequence_kind {
	SEQUENCE_NONE,	 /* no sequence is open */
	SEQUENCE_OPEN,	 /* more has to come */
	SEQUENCE_ESCAPE, /* ESC, `between` or 0, `final` */
	SEQUENCE_CSI,	 /* CSI, `leader` or 0, `args`, `between` or 0, `final` */
	SEQUENCE_DROPPED, /* a string, or an unknown sequence */
	SEQUENCE_CONTROL, /* the byte is a control character within a sequence */
	SEQUENCE_BROKEN	 /* the byte ended a sequence that it does not belong to */
};

/* A zeroed struct has seen nothing. */
struct sequence {
	uint8_t state;
	uint8_t leader, between, final;
	bool is_strange; /* too long, or of another form */
	uint8_t count;	 /* of `args` */
	uint16_t args[SEQUENCE_ARGS];
};

static inline bool sequence_is_open(const struct sequence *q)
{
	return q->state != 0;
}

/* Adds ESC, and then each byte while the sequence is open.  The result says what the
 * caller does now. */
enum sequence_kind sequence_add(struct sequence *q, uint8_t byte);

/* An argument, or `absent`. */
unsigned sequence_arg(const struct sequence *q, unsigned i, unsigned absent);
