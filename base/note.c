#include "base/note.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int note_silence(void)
{
	return setenv(NOTE_VARIABLE, "1", 1);
}

bool note_is_silent(void)
{
	const char *value = getenv(NOTE_VARIABLE);

	return value && *value;
}

/* A note that cannot be written is lost, which is no failure of what hutch does. */
__attribute__((format(printf, 2, 0)))
static void print(int fd, const char *format, va_list args)
{
	char *text;

	if (note_is_silent() || vasprintf(&text, format, args) < 0)
		return;
	if (fd < 0)
		(void)fprintf(stderr, "hutch: %s\n", text);
	else
		(void)dprintf(fd, "hutch: %s\n", text);
	free(text);
}

void note_print(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print(-1, format, args);
	va_end(args);
}

void note_print_to(int fd, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print(fd, format, args);
	va_end(args);
}
