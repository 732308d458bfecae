#include "policy/units.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/policy.h"

#define MAX_DURATION_MS (10ull * 366 * 24 * 3600 * 1000)

static const char *const ulimit_names[] = {
	[RLIMIT_CPU] = "cpu",		[RLIMIT_FSIZE] = "fsize",
	[RLIMIT_DATA] = "data",		[RLIMIT_STACK] = "stack",
	[RLIMIT_CORE] = "core",		[RLIMIT_RSS] = "rss",
	[RLIMIT_NPROC] = "nproc",	[RLIMIT_NOFILE] = "nofile",
	[RLIMIT_MEMLOCK] = "memlock",	[RLIMIT_AS] = "as",
	[RLIMIT_LOCKS] = "locks",	[RLIMIT_SIGPENDING] = "sigpending",
	[RLIMIT_MSGQUEUE] = "msgqueue", [RLIMIT_NICE] = "nice",
	[RLIMIT_RTPRIO] = "rtprio",	[RLIMIT_RTTIME] = "rttime",
};

const char *units_ulimit_name(int resource)
{
	if (resource < 0 || (size_t)resource >= ARRAY_LEN(ulimit_names))
		return NULL;
	return ulimit_names[resource];
}

/* A form of values: how errors name it, and a hint at how it is written. */
struct form {
	const char *name, *remedy;
};

static const struct form whole_number = { "a whole number", NULL };
static const struct form size = {
	"a size such as 512m or 2g",
	"write a whole number, of bytes or of k, m, g or t; 1.5g is 1536m"
};
static const struct form cpus = { "a number of CPUs such as 2 or 1.5", NULL };
static const struct form duration = {
	"a duration such as 90s or 10m",
	"units are ms, s, m and h, as in 1h30m; a number without one is in seconds"
};
static const struct form limit = { "a number or unlimited", "NAME=SOFT[:HARD]" };

static int not_of(const struct form *f, const char *text, struct err *e)
{
	(void)err_set(e, ERR_USAGE, "'%.60s' is not %s", text, f->name);
	return f->remedy ? err_remedy(e, "%s", f->remedy) : -1;
}

static bool is_digit(char c)
{
	return isdigit((unsigned char)c);
}

/* Reads the digits at *at, of which there is one at least, and moves *at behind
 * them. */
static int take_digits(const char **at, uint64_t *ret, struct err *e)
{
	char *end;

	errno = 0;
	*ret = strtoull(*at, &end, 10);
	if (errno == ERANGE)
		return err_set(e, ERR_USAGE, "'%.60s' is too large", *at);
	*at = end;
	return 0;
}

int units_parse_number(const char *text, uint64_t *ret, struct err *e)
{
	const char *at = text;
	uint64_t value;

	if (!is_digit(*at))
		return not_of(&whole_number, text, e);
	if (take_digits(&at, &value, e) < 0)
		return -1;
	if (*at)
		return not_of(&whole_number, text, e);
	*ret = value;
	return 0;
}

int units_parse_bytes(const char *text, uint64_t *ret, struct err *e)
{
	static const char units[] = "bkmgt"; /* the letter at index N stands for 1024^N */
	const char *at = text;
	uint64_t value;
	unsigned shift = 0;

	if (!is_digit(*at))
		return not_of(&size, text, e);
	if (take_digits(&at, &value, e) < 0)
		return -1;
	const char *unit = *at ? strchr(units, tolower((unsigned char)*at)) : NULL;
	if (unit) {
		shift = (unsigned)(unit - units) * 10;
		at++;
		if (shift && (!strcasecmp(at, "b") || !strcasecmp(at, "ib")))
			at += strlen(at);
	}
	if (*at)
		return not_of(&size, text, e);
	if (value > UINT64_MAX >> shift)
		return err_set(e, ERR_USAGE, "'%.60s' is too large", text);
	*ret = value << shift;
	return 0;
}

int units_parse_memory(const char *text, uint64_t *ret, struct err *e)
{
	uint64_t bytes = 0;

	if (units_parse_bytes(text, &bytes, e) < 0)
		return err_in(e, "--memory");
	if (bytes < UNITS_MEMORY_MIN || bytes > UNITS_MEMORY_MAX) {
		(void)err_set(e, ERR_USAGE, "--memory takes 6m or more, not '%.60s'",
			      text);
		return is_digit(text[strlen(text) - 1])
			       ? err_remedy(e, "a number without a unit is in bytes; "
					       "512m is 512 MiB")
			       : -1;
	}
	*ret = bytes;
	return 0;
}

int units_parse_pids(const char *text, uint64_t *ret, struct err *e)
{
	uint64_t count = 0;

	if (units_parse_number(text, &count, e) < 0)
		return err_in(e, "--pids-limit");
	if (count == 0 || count > UNITS_PIDS_MAX)
		return err_set(e, ERR_USAGE, "--pids-limit takes 1 or more, not '%.60s'",
			       text);
	*ret = count;
	return 0;
}

static int unit_ms(const char **at, uint64_t *ret)
{
	static const struct {
		const char *name;
		uint64_t ms;
	} units[] = { { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 } };

	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		size_t len = strlen(units[i].name);
		if (strncmp(*at, units[i].name, len))
			continue;
		*at += len;
		*ret = units[i].ms;
		return 0;
	}
	*ret = 1000;
	return **at == '\0' ? 0 : -1;
}

/* Reads the digits after a decimal point, as thousandths; digits after the third are
 * dropped. */
static uint64_t take_thousandths(const char **at)
{
	uint64_t value = 0, place = 100;

	for (; is_digit(**at); (*at)++, place /= 10)
		value += (uint64_t)(**at - '0') * place;
	return value;
}

int units_parse_cpus(const char *text, uint32_t *ret, struct err *e)
{
	const char *at = text;
	uint64_t whole = 0, part = 0;

	if (*at != '.' && !is_digit(*at))
		return not_of(&cpus, text, e);
	if (*at != '.' && take_digits(&at, &whole, e) < 0)
		return -1;
	if (*at == '.' && is_digit(at[1])) {
		at++;
		part = take_thousandths(&at);
	}
	if (*at)
		return not_of(&cpus, text, e);
	if (whole > UNITS_CPUS_MAX / 1000 || whole * 1000 + part < UNITS_CPUS_MIN)
		return err_set(e, ERR_USAGE, "'%.60s' is not between 0.01 and 1000",
			       text);
	*ret = (uint32_t)(whole * 1000 + part);
	return 0;
}

int units_parse_duration(const char *text, uint64_t *ret_ms, struct err *e)
{
	const char *at = text;
	uint64_t total = 0;

	do {
		uint64_t whole, part = 0, unit;
		if (!is_digit(*at))
			return not_of(&duration, text, e);
		if (take_digits(&at, &whole, e) < 0)
			return -1;
		if (*at == '.') {
			at++;
			part = take_thousandths(&at);
		}
		bool has_unit = *at != '\0';
		if (unit_ms(&at, &unit) < 0 || (!has_unit && total > 0))
			return not_of(&duration, text, e);
		if (whole > MAX_DURATION_MS / unit)
			return err_set(e, ERR_USAGE, "'%.60s' is too long", text);
		total += whole * unit + part * unit / 1000;
		if (total > MAX_DURATION_MS)
			return err_set(e, ERR_USAGE, "'%.60s' is too long", text);
	} while (*at);
	if (total == 0)
		return err_set(e, ERR_USAGE, "a duration of 0 would end at once");
	*ret_ms = total;
	return 0;
}

static int find_ulimit(const char *word, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(ulimit_names); i++)
		if (strlen(ulimit_names[i]) == len &&
		    !strncmp(word, ulimit_names[i], len))
			return (int)i;
	return -1;
}

static int take_limit(const char **at, uint64_t *ret, struct err *e)
{
	static const char *const endless[] = { "unlimited", "-1" };

	for (size_t i = 0; i < ARRAY_LEN(endless); i++) {
		size_t len = strlen(endless[i]);
		if (strncmp(*at, endless[i], len))
			continue;
		*at += len;
		*ret = RLIM_INFINITY;
		return 0;
	}
	return is_digit(**at) ? take_digits(at, ret, e) : not_of(&limit, *at, e);
}

static int parse_ulimit(struct policy *p, const char *word, struct err *e)
{
	size_t len = strcspn(word, "=");
	int resource = find_ulimit(word, len);

	if (resource < 0) {
		(void)err_set(e, ERR_USAGE, "unknown limit '%.*s'",
			      (int)(len < 60 ? len : 60), word);
		return err_remedy(e, "limits are nofile, nproc, fsize, cpu, as, core, stack "
				     "and others of setrlimit(2)");
	}
	if (!word[len])
		return err_set(e, ERR_USAGE, "expected NAME=SOFT[:HARD]");
	if (p->ulimit_count == POLICY_MAX_ULIMITS)
		return err_set(e, ERR_USAGE, "more than %d limits", POLICY_MAX_ULIMITS);

	const char *at = word + len + 1;
	struct ulimit u = { .resource = resource };
	if (take_limit(&at, &u.soft, e) < 0)
		return -1;
	u.hard = u.soft;
	if (*at == ':') {
		at++;
		if (take_limit(&at, &u.hard, e) < 0)
			return -1;
	}
	if (*at)
		return err_set(e, ERR_USAGE, "'%.60s' is left over", at);
	if (u.soft > u.hard)
		return err_set(e, ERR_USAGE, "the soft limit is above the hard one");
	u.from = text_format("--ulimit %s", word);
	p->ulimits[p->ulimit_count++] = u;
	return 0;
}

int units_parse_ulimit(struct policy *p, const char *word, struct err *e)
{
	if (parse_ulimit(p, word, e) == 0)
		return 0;
	AUTO_FREE char *from = text_format("--ulimit %.200s", word);
	return err_from(e, from);
}
