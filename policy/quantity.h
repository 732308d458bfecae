/* quantity -- numbers with units, as people type them. */
#pragma once
#include <stdint.h>

struct err;
struct policy;

/* A whole number, base ten, nothing before or behind it. */
int quantity_parse_number(const char *text, uint64_t *ret, struct err *e);

/* Bytes: a number with k, m, g or t (powers of 1024, either case, "b" or "ib"
 * behind it allowed), as docker takes them. */
int quantity_parse_bytes(const char *text, uint64_t *ret, struct err *e);

/* Of --memory and --pids-limit, within these bounds.  Below the first hardly a program
 * starts, and docker has the same; the kernel counts in signed numbers. */
#define QUANTITY_MEMORY_MIN (6ull << 20)
#define QUANTITY_MEMORY_MAX ((uint64_t)INT64_MAX)
#define QUANTITY_PIDS_MAX   ((uint64_t)INT32_MAX)
int quantity_parse_memory(const char *text, uint64_t *ret, struct err *e);
int quantity_parse_pids(const char *text, uint64_t *ret, struct err *e);

/* Of --cpus, in thousandths: the kernel takes no quota below 1 ms in its period of
 * 100 ms. */
#define QUANTITY_CPUS_MIN 10u
#define QUANTITY_CPUS_MAX 1000000u

/* A number of CPUs such as "2" or "1.5", in thousandths: 10 or more.
 * More than three places behind the point are cut. */
int quantity_parse_cpus(const char *text, uint32_t *ret, struct err *e);

/* A duration in milliseconds: "90", "1.5s", "250ms", "10m", "2h", "1h30m".  A
 * plain number is seconds.  Zero and more than 10 years are errors. */
int quantity_parse_duration(const char *text, uint64_t *ret_ms, struct err *e);

/* NAME=SOFT[:HARD] of --ulimit, as docker: nofile=1024:2048.  -1 and
 * "unlimited" mean RLIM_INFINITY.  Added to the policy. */
int quantity_parse_ulimit(struct policy *p, const char *word, struct err *e);
/* "nofile" for RLIMIT_NOFILE; NULL for an unknown resource. */
const char *quantity_ulimit_name(int resource);
