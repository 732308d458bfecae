/* words -- messages of an executor, valid and invalid, as bytes (docs/protocol.md).
 * They are written by hand: otherwise an encoder and a decoder with the same error
 * would agree. */
#pragma once

#define U32(a) "u" a "\0\0\0"
#define NO_TIME "q\0\0\0\0\0\0\0\0"

#define WORD_HELLO						\
	"\x1d\0\0\0" "\1\0" "\0\0" "\0\0\0\0"			\
	U32("\1") U32("\1") U32("\1") U32("\1") NO_TIME
#define WORD_STARTED "\5\0\0\0" "\3\0" "\0\0" "\1\0\0\0" U32("\2")
/* In these messages `stage` and `sys` are one byte each. */
#define WORD_FAILED(stage, sys) \
	"\12\0\0\0" "\4\0" "\0\0" "\1\0\0\0" U32(stage) U32(sys)
#define WORD_EXITED(is_signaled, status) \
	"\x1c\0\0\0" "\5\0" "\0\0" "\1\0\0\0" U32(is_signaled) U32(status) NO_TIME NO_TIME
