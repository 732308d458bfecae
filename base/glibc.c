/* glibc -- functions that a library compiled for glibc needs from musl.
 *
 * Debian's libcap.a, libcares.a, libnl and libvterm.a were compiled with
 * _FORTIFY_SOURCE, so they call the checked forms of some functions, which musl lacks.
 * These forms behave like glibc's (Linux Standard Base, "libc", __*_chk): an overflow
 * ends the program.  This file is linked with musl only. */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>

int __snprintf_chk(char *to, size_t max, int flag, size_t room, const char *format,
		   ...);
int __vsnprintf_chk(char *to, size_t max, int flag, size_t room, const char *format,
		    va_list args);
int __sprintf_chk(char *to, int flag, size_t room, const char *format, ...);
int __asprintf_chk(char **to, int flag, const char *format, ...);
int __fprintf_chk(FILE *to, int flag, const char *format, ...);
char *__strncpy_chk(char *to, const char *from, size_t max, size_t room);
void *__memcpy_chk(void *to, const void *from, size_t len, size_t room);
long __fdelt_chk(long fd);
int __vasprintf_chk(char **to, int flag, const char *format, va_list args);
int __vfprintf_chk(FILE *to, int flag, const char *format, va_list args);

__attribute__((format(printf, 5, 0)))
int __vsnprintf_chk(char *to, size_t max, int flag, size_t room, const char *format,
		    va_list args)
{
	(void)flag;
	if (max > room)
		abort();
	return vsnprintf(to, max, format, args);
}

__attribute__((format(printf, 5, 6)))
int __snprintf_chk(char *to, size_t max, int flag, size_t room, const char *format,
		   ...)
{
	va_list args;

	va_start(args, format);
	int len = __vsnprintf_chk(to, max, flag, room, format, args);
	va_end(args);
	return len;
}

__attribute__((format(printf, 4, 5)))
int __sprintf_chk(char *to, int flag, size_t room, const char *format, ...)
{
	va_list args;

	(void)flag;
	va_start(args, format);
	int len = vsnprintf(to, room, format, args);
	va_end(args);
	if (len >= 0 && (size_t)len >= room)
		abort();
	return len;
}

__attribute__((format(printf, 3, 4)))
int __asprintf_chk(char **to, int flag, const char *format, ...)
{
	va_list args;

	(void)flag;
	va_start(args, format);
	int len = vasprintf(to, format, args);
	va_end(args);
	return len;
}

__attribute__((format(printf, 3, 4)))
int __fprintf_chk(FILE *to, int flag, const char *format, ...)
{
	va_list args;

	(void)flag;
	va_start(args, format);
	int len = vfprintf(to, format, args);
	va_end(args);
	return len;
}

char *__strncpy_chk(char *to, const char *from, size_t max, size_t room)
{
	if (max > room)
		abort();
	return strncpy(to, from, max);
}

void *__memcpy_chk(void *to, const void *from, size_t len, size_t room)
{
	if (len > room)
		abort();
	return memcpy(to, from, len);
}

long __fdelt_chk(long fd)
{
	if (fd < 0 || fd >= FD_SETSIZE)
		abort();
	return fd / (long)(8 * sizeof(long));
}

__attribute__((format(printf, 3, 0))) int
__vasprintf_chk(char **to, int flag, const char *format, va_list args)
{
	(void)flag;
	return vasprintf(to, format, args);
}

__attribute__((format(printf, 3, 0))) int __vfprintf_chk(FILE *to, int flag,
							 const char *format, va_list args)
{
	(void)flag;
	return vfprintf(to, format, args);
}
