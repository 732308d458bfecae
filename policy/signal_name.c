#include "policy/signal_name.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/list.h"
#include "base/own.h"
#include "policy/units.h"

#define SIGNAL_MAX 64
/* The first real-time signal as glibc and docker count, 34.  musl's SIGRTMIN is another
 * one; but the number is meant for a program of the image. */
#define FIRST_REAL_TIME 34

static const char *bare(const char *name)
{
	return strncmp(name, "SIG", 3) ? name : name + 3;
}

int signal_name_find(const char *name)
{
	static const struct {
		const char *name;
		int signo;
	} names[] = {
		{ "HUP", SIGHUP },     { "INT", SIGINT },	{ "QUIT", SIGQUIT },
		{ "KILL", SIGKILL },   { "USR1", SIGUSR1 },	{ "USR2", SIGUSR2 },
		{ "PIPE", SIGPIPE },   { "ALRM", SIGALRM },	{ "TERM", SIGTERM },
		{ "CHLD", SIGCHLD },   { "CONT", SIGCONT },	{ "STOP", SIGSTOP },
		{ "TSTP", SIGTSTP },   { "TTIN", SIGTTIN },	{ "TTOU", SIGTTOU },
		{ "WINCH", SIGWINCH }, { "ABRT", SIGABRT },	{ "SEGV", SIGSEGV },
		{ "ILL", SIGILL },     { "TRAP", SIGTRAP },	{ "BUS", SIGBUS },
		{ "FPE", SIGFPE },     { "STKFLT", SIGSTKFLT }, { "URG", SIGURG },
		{ "XCPU", SIGXCPU },   { "XFSZ", SIGXFSZ },	{ "VTALRM", SIGVTALRM },
		{ "PROF", SIGPROF },   { "IO", SIGIO },		{ "PWR", SIGPWR },
		{ "SYS", SIGSYS },
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(names[i].name, bare(name)))
			return names[i].signo;
	return 0;
}

int signal_name_parse(const char *text)
{
	const char *name = bare(text);
	const bool is_real_time = !strncmp(name, "RTMIN", 5);
	const int named = is_real_time ? 0 : signal_name_find(text);
	uint64_t number = 0;

	if (named)
		return named;
	if (is_real_time && !name[5])
		return FIRST_REAL_TIME;
	if (is_real_time && name[5] != '+')
		return 0;
	if (units_parse_number(is_real_time ? name + 6 : text, &number, NULL) < 0 ||
	    number > SIGNAL_MAX)
		return 0;
	number += is_real_time ? FIRST_REAL_TIME : 0;
	return number <= SIGNAL_MAX ? (int)number : 0;
}
