/* note -- the sentences that hutch writes on its own behalf and that are no errors.
 *
 * A caller that reads stderr with the command's own output has them in between, so -q
 * turns all of them off.  It does that by an environment variable: the programs that
 * hutch starts then write none either.  Commands inside a sandbox do not get the
 * variable.  Errors are written by cli/common/report.h. */
#pragma once
#include <stdbool.h>

#define NOTE_VARIABLE "HUTCH_QUIET"

/* Turns the notes of this process off, and those of programs that it starts.  Returns
 * -1 with errno set. */
int note_silence(void);
bool note_is_silent(void);

/* Writes "hutch: SENTENCE" and a newline to stderr, or to `fd`, unless notes are off.
 * Parts of the sentence that others chose must be escaped (base/term_escape.h). */
void note_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
void note_print_to(int fd, const char *format, ...) __attribute__((format(printf, 2, 3)));
