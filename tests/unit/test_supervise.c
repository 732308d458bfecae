/* supervise: whatever an executor sends, in any order, the supervisor reaches a
 * verdict that tells what happened. */
#include "sandbox/launch/supervise.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sandbox/launch/result.h"
#include "tests/unit/stage.h"
#include "tests/unit/words.h"

#define SAY(text) .says = (text), .len = sizeof(text) - 1
#define UP	  WORD_HELLO WORD_STARTED
#define BROKE	  "broke the protocol"

struct story {
	const char *name;
	const char *says; /* sent in one write */
	size_t len;
	enum end end; /* how the executor ends after that */
	enum run_status status;
	int exit_code, signal;
	const char *message; /* part of the error */
};

/* Executors that follow the protocol. */
static const struct story honest[] = {
	{ "exit code 0", SAY(UP WORD_EXITED("\0", "\0")), ENDS, RUN_EXITED, 0, 0, NULL },
	{ "exit code 255", SAY(UP WORD_EXITED("\0", "\xff")), ENDS, RUN_EXITED, 255, 0,
	  NULL },
	{ "ended by a signal", SAY(UP WORD_EXITED("\1", "\11")), ENDS, RUN_SIGNALED, 137,
	  9, NULL },
	{ "no such command", SAY(WORD_HELLO WORD_FAILED("\6", "\2")), ENDS,
	  RUN_SETUP_ERROR, 127, 0, "true: No such file" },
	{ "a command without x", SAY(WORD_HELLO WORD_FAILED("\6", "\15")), ENDS,
	  RUN_SETUP_ERROR, 126, 0, "Permission denied" },
	{ "no program", SAY(WORD_HELLO WORD_FAILED("\10", "\10")), ENDS, RUN_SETUP_ERROR,
	  126, 0, "Exec format error" },
	{ "no working directory", SAY(WORD_HELLO WORD_FAILED("\5", "\2")), ENDS,
	  RUN_SETUP_ERROR, 125, 0, "/folder: No such file" },
};

/* Executors that report the command's end, but do not end themselves. */
static const struct story lives_on[] = {
	{ "says exited and lives on", SAY(UP WORD_EXITED("\0", "\3")), LIVES, RUN_EXITED,
	  3, 0, NULL },
	{ "says failed and lives on", SAY(WORD_HELLO WORD_FAILED("\6", "\2")), LIVES,
	  RUN_SETUP_ERROR, 127, 0, "No such file" },
	{ "closes at once and lives on", SAY(""), CLOSES, RUN_SETUP_ERROR, 125, 0,
	  "channel" },
	{ "closes after hello and lives on", SAY(WORD_HELLO), CLOSES, RUN_SETUP_ERROR,
	  125, 0, "channel" },
	{ "closes after started and lives on", SAY(UP), CLOSES, RUN_SETUP_ERROR, 125, 0,
	  "channel" },
	{ "half a frame, closes, lives on", SAY(UP "\x1c\0\0\0\5\0"), CLOSES,
	  RUN_SETUP_ERROR, 125, 0, "channel" },
};

/* Executors that end without a report about the command. */
static const struct story silent[] = {
	{ "ends at once", SAY(""), ENDS, RUN_SETUP_ERROR, 125, 0, "ended with code 0" },
	{ "ends with a code", SAY(WORD_HELLO), ENDS_WITH_3, RUN_SETUP_ERROR, 125, 0,
	  "ended with code 3" },
	{ "ends while it runs", SAY(UP), ENDS, RUN_SETUP_ERROR, 125, 0,
	  "ended with code 0" },
	{ "half a frame, then ends", SAY(UP "\x1c\0\0"), ENDS, RUN_SETUP_ERROR, 125, 0,
	  "ended with code 0" },
	{ "a frame without its last byte", SAY("\5\0\0\0\3\0\0\0\1\0\0\0u\2\0\0"), ENDS,
	  RUN_SETUP_ERROR, 125, 0, "ended with code 0" },
	{ "is killed at once", SAY(""), IS_KILLED, RUN_SIGNALED, 137, 9, NULL },
	{ "is killed while it runs", SAY(UP), IS_KILLED, RUN_SIGNALED, 137, 9, NULL },
};

/* Executors that break a rule; all live on and must be killed. */
static const struct story broken[] = {
	{ "text", SAY("HTTP/1.0 400 Bad Request\r\n\r\n"), LIVES, .message = BROKE },
	{ "zeros", SAY("\0\0\0\0\0\0\0\0\0\0\0\0"), LIVES, .message = "type 0" },
	{ "a type that is none", SAY("\0\0\0\0\xff\xff\0\0\0\0\0\0"), LIVES,
	  .message = "type 65535" },
	{ "a type just beyond", SAY("\0\0\0\0\23\0\0\0\0\0\0\0"), LIVES,
	  .message = "type 19" },
	{ "a request of ours: exec", SAY("\0\0\0\0\2\0\0\0\1\0\0\0"), LIVES,
	  .message = "type 2" },
	{ "a request of ours: signal", SAY(UP "\5\0\0\0\6\0\0\0\1\0\0\0" U32("\1")),
	  LIVES, .message = "type 6" },
	{ "a request of ours: stop", SAY(UP "\0\0\0\0\10\0\0\0\0\0\0\0"), LIVES,
	  .message = "type 8" },
	{ "the reserved half word", SAY("\x1d\0\0\0\1\0\1\0\0\0\0\0"), LIVES,
	  .message = BROKE },
	{ "a body of 64 KiB and 1", SAY("\1\0\1\0\1\0\0\0\0\0\0\0"), LIVES,
	  .message = BROKE },
	{ "a body of 4 GiB", SAY("\xff\xff\xff\xff\1\0\0\0\0\0\0\0"), LIVES,
	  .message = BROKE },
	{ "hello of another version",
	  SAY("\x1d\0\0\0\1\0\0\0\0\0\0\0" U32("\2") U32("\1") U32("\1") U32("\1")
		      NO_TIME),
	  LIVES, .message = "version 2" },
	{ "hello about a command",
	  SAY("\x1d\0\0\0\1\0\0\0\1\0\0\0" U32("\1") U32("\1") U32("\1") U32("\1")
		      NO_TIME),
	  LIVES, .message = "'hello' at the wrong time" },
	{ "hello without a field",
	  SAY("\x14\0\0\0\1\0\0\0\0\0\0\0" U32("\1") U32("\1") U32("\1") U32("\1")),
	  LIVES, .message = BROKE },
	{ "hello with one left over",
	  SAY("\x22\0\0\0\1\0\0\0\0\0\0\0" U32("\1") U32("\1") U32("\1") U32("\1")
		      NO_TIME U32("\1")),
	  LIVES, .message = BROKE },
	{ "hello with another tag",
	  SAY("\x1d\0\0\0\1\0\0\0\0\0\0\0"
	      "s\1\0\0\0" U32("\1") U32("\1") U32("\1") NO_TIME),
	  LIVES, .message = BROKE },
	{ "hello twice", SAY(WORD_HELLO WORD_HELLO), LIVES,
	  .message = "'hello' at the wrong" },
	{ "hello while it runs", SAY(UP WORD_HELLO), LIVES,
	  .message = "'hello' at the wrong" },
	{ "started before hello", SAY(WORD_STARTED), LIVES,
	  .message = "'started' at the wrong" },
	{ "started twice", SAY(UP WORD_STARTED), LIVES,
	  .message = "'started' at the wrong" },
	{ "started about another", SAY(WORD_HELLO "\5\0\0\0\3\0\0\0\2\0\0\0" U32("\2")),
	  LIVES, .message = "'started' at the wrong" },
	{ "started about none", SAY(WORD_HELLO "\5\0\0\0\3\0\0\0\0\0\0\0" U32("\2")),
	  LIVES, .message = "'started' at the wrong" },
	{ "exited before hello", SAY(WORD_EXITED("\0", "\0")), LIVES,
	  .message = "'exited' at the wrong" },
	{ "exited before started", SAY(WORD_HELLO WORD_EXITED("\0", "\0")), LIVES,
	  .message = "'exited' at the wrong" },
	{ "failed before hello", SAY(WORD_FAILED("\6", "\2")), LIVES,
	  .message = "'failed' at the wrong" },
	{ "failed after started", SAY(UP WORD_FAILED("\6", "\2")), LIVES,
	  .message = "'failed' at the wrong" },
	{ "failed in no stage", SAY(WORD_HELLO WORD_FAILED("\0", "\2")), LIVES,
	  .message = BROKE },
	{ "failed in a stage beyond", SAY(WORD_HELLO WORD_FAILED("\12", "\2")), LIVES,
	  .message = BROKE },
	{ "failed without an errno", SAY(WORD_HELLO WORD_FAILED("\7", "\0")), LIVES,
	  .message = BROKE },
	{ "exited by signal 0", SAY(UP WORD_EXITED("\1", "\0")), LIVES,
	  .message = BROKE },
	{ "exited by signal 65", SAY(UP WORD_EXITED("\1", "\x41")), LIVES,
	  .message = BROKE },
	{ "exited, a bool of 2", SAY(UP WORD_EXITED("\2", "\0")), LIVES,
	  .message = BROKE },
	{ "exited with code 256",
	  SAY(UP "\x1c\0\0\0\5\0\0\0\1\0\0\0" U32("\0") "u\0\1\0\0" NO_TIME NO_TIME),
	  LIVES, .message = BROKE },
	{ "started, then garbage",
	  SAY(UP "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), LIVES,
	  .message = BROKE },
	{ "never stops", SAY(WORD_HELLO), FLOODS, .message = BROKE },
	{ "never stops, from the first byte", SAY(""), FLOODS, .message = BROKE },
};

static void check(const struct story *story, const struct result *r)
{
	const char *message = story->message ? story->message : "";

	if (r->status != story->status || r->exit_code != story->exit_code ||
	    r->signal != story->signal || !strstr(r->error.text, message))
		fail_msg("'%s': status %d, code %d, signal %d, '%s'", story->name,
			 r->status, r->exit_code, r->signal, r->error.text);
	if (!story->message)
		assert_int_equal(r->error.kind, ERR_NONE);
}

static void tell(const struct story *stories, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct story *s = &stories[i];
		const struct stage stage = { .says = s->says,
					     .len = s->len,
					     .end = s->end };
		struct result r;
		if (!stage_play(&stage, &r))
			fail_msg("'%s': the supervisor hangs", s->name);
		check(s, &r);
	}
}

static void test_an_honest_executor(void **state)
{
	(void)state;
	tell(honest, ARRAY_LEN(honest));
}

static void test_one_that_has_spoken_and_lives_on_is_ended(void **state)
{
	(void)state;
	tell(lives_on, ARRAY_LEN(lives_on));
}

static void test_one_that_ends_without_a_word(void **state)
{
	(void)state;
	tell(silent, ARRAY_LEN(silent));
}

static void test_one_that_breaks_the_protocol_is_ended(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
		struct story s = broken[i];
		s.status = RUN_SETUP_ERROR;
		s.exit_code = EXIT_HUTCH;
		tell(&s, 1);
	}
}

/* The same messages, byte by byte, lead to the same verdict. */
static void test_words_may_come_byte_by_byte(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(honest); i++) {
		const struct stage stage = { .says = honest[i].says, .len = honest[i].len,
					     .end = ENDS, .is_slow = true };
		struct result r;
		assert_true(stage_play(&stage, &r));
		check(&honest[i], &r);
	}
}

/* A valid exchange that is cut off anywhere is not taken for a complete one. */
static void test_every_truncation_is_an_error(void **state)
{
	static const char truth[] = UP WORD_EXITED("\0", "\0");

	(void)state;
	for (size_t len = 0; len < sizeof(truth) - 1; len++) {
		const struct stage stage = { .says = truth, .len = len, .end = ENDS };
		struct result r;
		assert_true(stage_play(&stage, &r));
		assert_int_equal(r.status, RUN_SETUP_ERROR);
		assert_int_equal(r.exit_code, EXIT_HUTCH);
		assert_non_null(strstr(r.error.text, "ended with code 0"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_honest_executor),
		cmocka_unit_test(test_one_that_has_spoken_and_lives_on_is_ended),
		cmocka_unit_test(test_one_that_ends_without_a_word),
		cmocka_unit_test(test_one_that_breaks_the_protocol_is_ended),
		cmocka_unit_test(test_words_may_come_byte_by_byte),
		cmocka_unit_test(test_every_truncation_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
