/* sequence -- control sequences in what a program prints (ECMA-48, and what terminals
 * have made of it).
 *
 * One byte at a time; whole sequences come out, bounded and with their parameters
 * as numbers.  Strings (OSC, DCS, APC, PM, SOS: titles, links, pictures) are passed
 * over, however long they are.  They end with ST, BEL or, as what was never ended
 * must not take all that follows with it, the next control character but a tab. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define SEQUENCE_ARGS	 16
#define SEQUENCE_ARG_MAX 9999 /* what is more becomes this */
#define SEQUENCE_NO_ARG	 UINT16_MAX

enum sequence_kind {
	SEQUENCE_NONE,	 /* nothing of one is open */
	SEQUENCE_OPEN,	 /* more has to come */
	SEQUENCE_ESCAPE, /* ESC, `between` or 0, `final` */
	SEQUENCE_CSI,	 /* CSI, `leader` or 0, `args`, `between` or 0, `final` */
	SEQUENCE_DROPPED, /* a string, or what nobody knows */
	SEQUENCE_CONTROL, /* the byte is a control character in the midst of one */
	SEQUENCE_BROKEN	 /* the byte ended one that it is no part of */
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

/* Begins with ESC; then each byte while it is open.  The result says what is to
 * be done now. */
enum sequence_kind sequence_add(struct sequence *q, uint8_t byte);

/* An argument, or `absent`. */
unsigned sequence_arg(const struct sequence *q, unsigned i, unsigned absent);
