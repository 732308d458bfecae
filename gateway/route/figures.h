/* figures -- what a pod's /metrics say about its room, and which pod gets the next
 * sandbox. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Below this, a pod counts as full: the kernel would soon end processes in it. */
#define FIGURES_MEMORY_MIN (128ull << 20)

struct figures {
	bool is_known; /* the pod has answered */
	uint64_t alive, max;
	uint64_t memory; /* free bytes; 0: not known */
	uint64_t coming; /* sandboxes on their way there, which `alive` may lack */
};

/* Reads the answer to GET /metrics; `text` ends with a NUL. */
void figures_read(const char *text, struct figures *ret);

/* Returns the index of the pod with the most free places, of equals that with the most
 * free memory; -1: none has room. */
int figures_choose(const struct figures *all, size_t count);
