#include "executor/terminal/sequence.h"

#define ESC 0x1b
#define BEL 0x07
#define CAN 0x18
#define SUB 0x1a

enum { GROUND, AFTER_ESC, IN_CSI, IN_STRING, STRING_ESC, STATES };

static void begin(struct sequence *q, uint8_t state)
{
	*q = (struct sequence){ .state = state };
}

static enum sequence_kind end(struct sequence *q, enum sequence_kind kind)
{
	q->state = GROUND;
	return q->is_strange ? SEQUENCE_DROPPED : kind;
}

static void add_between(struct sequence *q, uint8_t byte)
{
	q->is_strange |= q->between != 0;
	q->between = byte;
}

static enum sequence_kind after_esc(struct sequence *q, uint8_t byte)
{
	if (byte < 0x30) {
		add_between(q, byte);
		return SEQUENCE_OPEN;
	}
	q->final = byte;
	if (q->between)
		return end(q, SEQUENCE_ESCAPE);
	switch (byte) {
	case '[':
		begin(q, IN_CSI);
		return SEQUENCE_OPEN;
	case 'P': case 'X': case ']': case '^': case '_':
		begin(q, IN_STRING);
		return SEQUENCE_OPEN;
	default:
		return end(q, SEQUENCE_ESCAPE);
	}
}

static void add_digit(struct sequence *q, unsigned digit)
{
	if (q->count == 0)
		q->args[q->count++] = SEQUENCE_NO_ARG;
	uint16_t *arg = &q->args[q->count - 1];
	unsigned v = (*arg == SEQUENCE_NO_ARG ? 0 : *arg * 10u) + digit;
	*arg = (uint16_t)(v > SEQUENCE_ARG_MAX ? SEQUENCE_ARG_MAX : v);
}

static void next_arg(struct sequence *q)
{
	if (q->count == 0)
		q->args[q->count++] = SEQUENCE_NO_ARG;
	if (q->count == SEQUENCE_ARGS)
		q->is_strange = true;
	else
		q->args[q->count++] = SEQUENCE_NO_ARG;
}

static enum sequence_kind in_csi(struct sequence *q, uint8_t byte)
{
	if (byte >= 0x40) {
		q->final = byte;
		return end(q, SEQUENCE_CSI);
	}
	if (byte < 0x30) {
		add_between(q, byte);
	} else if (q->between) {
		q->is_strange = true; /* a parameter after an intermediate byte is
				       * invalid */
	} else if (byte >= '0' && byte <= '9') {
		add_digit(q, byte - '0');
	} else if (byte == ';') {
		next_arg(q);
	} else if (byte >= 0x3c && !q->leader && q->count == 0) {
		q->leader = byte;
	} else {
		q->is_strange = true; /* sub-parameters, which some sequences for colours
				       * have, are not supported */
	}
	return SEQUENCE_OPEN;
}

static enum sequence_kind in_string(struct sequence *q, uint8_t byte)
{
	if (byte == BEL)
		return end(q, SEQUENCE_DROPPED);
	if (byte >= 0x20 || byte == '\t')
		return SEQUENCE_OPEN;
	q->state = GROUND;
	return SEQUENCE_BROKEN;
}

static enum sequence_kind string_esc(struct sequence *q, uint8_t byte)
{
	if (byte == '\\')
		return end(q, SEQUENCE_DROPPED);
	begin(q, AFTER_ESC);
	return sequence_add(q, byte);
}

enum sequence_kind sequence_add(struct sequence *q, uint8_t byte)
{
	static enum sequence_kind (*const steps[STATES])(struct sequence *, uint8_t) = {
		[AFTER_ESC] = after_esc,
		[IN_CSI] = in_csi,
		[IN_STRING] = in_string,
		[STRING_ESC] = string_esc,
	};

	if (byte == ESC) {
		begin(q, q->state == IN_STRING ? STRING_ESC : AFTER_ESC);
		return SEQUENCE_OPEN;
	}
	if (q->state == IN_STRING)
		return in_string(q, byte);
	if (byte == CAN || byte == SUB) {
		q->is_strange = true;
		return end(q, SEQUENCE_DROPPED);
	}
	if (byte < 0x20)
		return SEQUENCE_CONTROL;
	if (byte == 0x7f)
		return SEQUENCE_OPEN;
	if (byte >= 0x80) {
		q->state = GROUND;
		return SEQUENCE_BROKEN;
	}
	return steps[q->state](q, byte);
}

unsigned sequence_arg(const struct sequence *q, unsigned i, unsigned absent)
{
	return i < q->count && q->args[i] != SEQUENCE_NO_ARG ? q->args[i] : absent;
}
