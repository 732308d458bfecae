/* quantity -- numbers with units, as people type them. */
#pragma once
#include <stdint.h>

struct err;
struct policy;

/* Parses a decimal whole number with nothing before or behind it. */
int quantity_parse_number(const char *text, uint64_t *ret, struct err *e);

/* Parses bytes: a number with k, m, g or t (powers of 1024, either case, with an
 * optional "b" or "ib" behind it), as docker does. */
int quantity_parse_bytes(const char *text, uint64_t *ret, struct err *e);

/* The bounds of --memory and --pids-limit.  With less memory hardly any program
 * starts, and docker has the same minimum; the kernel counts in signed numbers. */
#define QUANTITY_MEMORY_MIN (6ull << 20)
#define QUANTITY_MEMORY_MAX ((uint64_t)INT64_MAX)
#define QUANTITY_PIDS_MAX   ((uint64_t)INT32_MAX)
int quantity_parse_memory(const char *text, uint64_t *ret, struct err *e);
int quantity_parse_pids(const char *text, uint64_t *ret, struct err *e);

/* The bounds of --cpus, in thousandths: the kernel takes no quota below 1 ms in its
 * period of 100 ms. */
#define QUANTITY_CPUS_MIN 10u
#define QUANTITY_CPUS_MAX 1000000u

/* Parses a number of CPUs such as "2" or "1.5", in thousandths: 10 or more.  Digits
 * after the third behind the point are dropped. */
int quantity_parse_cpus(const char *text, uint32_t *ret, struct err *e);

/* Parses a duration to milliseconds: "90", "1.5s", "250ms", "10m", "2h", "1h30m".  A
 * plain number is in seconds.  Zero and more than 10 years are errors. */
int quantity_parse_duration(const char *text, uint64_t *ret_ms, struct err *e);

/* Parses NAME=SOFT[:HARD] of --ulimit and adds it to the policy, as docker does:
 * nofile=1024:2048.  -1 and "unlimited" mean RLIM_INFINITY. */
int quantity_parse_ulimit(struct policy *p, const char *word, struct err *e);
/* "nofile" for RLIMIT_NOFILE; NULL for an unknown resource. */
const char *quantity_ulimit_name(int resource);
