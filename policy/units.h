/* units -- parses numbers with units, as users type them. */
#pragma once
#include <stdint.h>

struct err;
struct policy;

/* Parses a decimal whole number; anything before or after it is an error. */
int units_parse_number(const char *text, uint64_t *ret, struct err *e);

/* Parses bytes: a number with k, m, g or t (powers of 1024, either case, with an
 * optional "b" or "ib" behind it), as docker does. */
int units_parse_bytes(const char *text, uint64_t *ret, struct err *e);

/* The bounds of --memory and --pids-limit.  The minimum is that of docker: with less
 * memory hardly any program starts.  The maxima are those of the kernel's signed
 * types. */
#define UNITS_MEMORY_MIN (6ull << 20)
#define UNITS_MEMORY_MAX ((uint64_t)INT64_MAX)
#define UNITS_PIDS_MAX   ((uint64_t)INT32_MAX)
int units_parse_memory(const char *text, uint64_t *ret, struct err *e);
int units_parse_pids(const char *text, uint64_t *ret, struct err *e);

/* The bounds of --cpus, in thousandths of a CPU.  The kernel accepts no quota below
 * 1 ms, which is 10 thousandths of its period of 100 ms. */
#define UNITS_CPUS_MIN 10u
#define UNITS_CPUS_MAX 1000000u

/* Parses a number of CPUs such as "2" or "1.5"; *ret is in thousandths and at least 10.
 * Digits after the third behind the decimal point are dropped. */
int units_parse_cpus(const char *text, uint32_t *ret, struct err *e);

/* Parses a duration to milliseconds: "90", "1.5s", "250ms", "10m", "2h", "1h30m".  A
 * plain number is in seconds.  Zero and more than 10 years are errors. */
int units_parse_duration(const char *text, uint64_t *ret_ms, struct err *e);

/* Parses NAME=SOFT[:HARD] of --ulimit and adds it to the policy, as docker does:
 * nofile=1024:2048.  -1 and "unlimited" mean RLIM_INFINITY. */
int units_parse_ulimit(struct policy *p, const char *word, struct err *e);
/* Returns the name of a limit: "nofile" for RLIMIT_NOFILE; NULL for an unknown
 * resource. */
const char *units_ulimit_name(int resource);
