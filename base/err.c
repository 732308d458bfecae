#include "base/err.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"

static const char *const kind_names[] = {
	[ERR_NONE] = "none",		   [ERR_USAGE] = "usage",
	[ERR_NOT_FOUND] = "not_found",	   [ERR_EXISTS] = "exists",
	[ERR_BUSY] = "busy",		   [ERR_GONE] = "disconnected",
	[ERR_REFUSED] = "refused",	   [ERR_UNSUPPORTED] = "unsupported",
	[ERR_LIMIT] = "limit",		   [ERR_PROTOCOL] = "protocol",
	[ERR_SYSTEM] = "system",	   [ERR_INTERNAL] = "internal",
};
_Static_assert(sizeof(kind_names) / sizeof(kind_names[0]) == ERR_KIND_COUNT,
	       "an error kind has no name");
_Static_assert(sizeof(struct err) <= PIPE_BUF,
	       "an err must cross a pipe in one atomic write (PIPE_BUF)");

static enum err_kind kind_of_errno(int sys)
{
	switch (sys) {
	case ENOENT:
	case ENOTDIR:
		return ERR_NOT_FOUND;
	case EPERM:
	case EACCES:
		return ERR_REFUSED;
	case ENOSYS:
	case EOPNOTSUPP:
		return ERR_UNSUPPORTED;
	case EMFILE:
	case ENFILE:
	case ENOSPC:
	case EDQUOT:
	case EAGAIN:
	case E2BIG:
	case ETOOMANYREFS:
		return ERR_LIMIT;
	default:
		return ERR_SYSTEM;
	}
}

int err_set(struct err *e, enum err_kind kind, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return -1;
	e->kind = kind;
	e->sys = 0;
	e->remedy[0] = '\0';
	va_start(ap, fmt);
	(void)vsnprintf(e->text, sizeof(e->text), fmt, ap); /* vsnprintf(3) cuts a longer
							     * text */
	va_end(ap);
	return -1;
}

const char *err_words(int sys)
{
	static const struct {
		int sys;
		const char *words;
	} others[] = {
		{ EIO, "Input/output error" },
		{ ENXIO, "No such device or address" },
		{ ENOMEM, "Cannot allocate memory" },
		{ EBUSY, "Device or resource busy" },
		{ EXDEV, "Invalid cross-device link" },
		{ ENFILE, "Too many open files in system" },
		{ EMFILE, "Too many open files" },
		{ ENOTTY, "Inappropriate ioctl for device" },
		{ ESPIPE, "Illegal seek" },
		{ ENAMETOOLONG, "File name too long" },
		{ ELOOP, "Too many levels of symbolic links" },
		{ EUSERS, "Too many users" },
		{ EMSGSIZE, "Message too long" },
		{ EOPNOTSUPP, "Operation not supported" },
		{ EADDRINUSE, "Address already in use" },
		{ ENETUNREACH, "Network is unreachable" },
		{ ETOOMANYREFS, "Too many references: cannot splice" },
		{ EDQUOT, "Disk quota exceeded" },
	};

	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (others[i].sys == sys)
			return others[i].words;
	return strerror(sys);
}

int err_sys(struct err *e, const char *fmt, ...)
{
	int sys = errno;
	va_list ap;

	if (!e)
		return -1;
	e->kind = kind_of_errno(sys);
	e->sys = sys;
	e->remedy[0] = '\0';
	va_start(ap, fmt);
	(void)vsnprintf(e->text, sizeof(e->text), fmt, ap); /* vsnprintf(3) cuts a longer
							     * text */
	va_end(ap);

	size_t len = strlen(e->text);
	(void)snprintf(e->text + len, sizeof(e->text) - len, ": %s", err_words(sys));
	if (sys == ETOOMANYREFS)
		(void)err_remedy(
			e,
			"programs of this user, those in sandboxes included, have more "
			"descriptors under way over unix sockets than the hard limit "
			"of ulimit -n here; end them, or raise that");
	errno = sys;
	return -1;
}

int err_in(struct err *e, const char *fmt, ...)
{
	char place[128];
	va_list ap;

	if (!e)
		return -1;
	va_start(ap, fmt);
	(void)vsnprintf(place, sizeof(place), fmt, ap); /* vsnprintf(3) cuts a longer
							 * text */
	va_end(ap);

	/* If the text is too long with the place in front, its end is cut off. */
	size_t len = strlen(place), old = strlen(e->text);
	size_t room = sizeof(e->text) - 1 - len - 2;
	size_t keep = old < room ? old : room;
	memmove(e->text + len + 2, e->text, keep);
	memcpy(e->text, place, len);
	memcpy(e->text + len, ": ", 2);
	e->text[len + 2 + keep] = '\0';
	return -1;
}

int err_from(struct err *e, const char *where)
{
	if (!e || !where || !*where)
		return -1;

	size_t len = strlen(e->text);
	(void)snprintf(e->text + len, sizeof(e->text) - len, " (from %s)", where);
	return -1;
}

int err_remedy(struct err *e, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return -1;
	va_start(ap, fmt);
	(void)vsnprintf(e->remedy, sizeof(e->remedy), fmt, ap); /* may be cut */
	va_end(ap);
	return -1;
}

const char *err_kind_name(int kind)
{
	if (kind < 0 || kind >= ERR_KIND_COUNT)
		return kind_names[ERR_INTERNAL];
	return kind_names[kind];
}

/* Returns whether a control character is at `p`: C0, DEL, or C1 as UTF-8 writes it
 * (C2 80..C2 9F), which terminals obey too (9B is CSI). */
static bool is_control(const unsigned char *p)
{
	bool is_c1 = p[0] == 0xc2 && p[1] >= 0x80 && p[1] <= 0x9f;

	return p[0] < ' ' || p[0] == 0x7f || is_c1;
}

static void blank_controls(char *text, size_t size)
{
	text[size - 1] = '\0';
	for (unsigned char *p = (unsigned char *)text; *p; p++) {
		if (!is_control(p))
			continue;
		if (*p == 0xc2)
			*p++ = '?';
		*p = '?';
	}
}

void err_sanitize(struct err *e)
{
	if (e->kind <= ERR_NONE || e->kind >= ERR_KIND_COUNT)
		e->kind = ERR_INTERNAL;
	blank_controls(e->text, sizeof(e->text));
	blank_controls(e->remedy, sizeof(e->remedy));
}
