/* resources_limit -- how the readers of the resources object add limits to the list of
 * resources.h.  Those of resources_v1.c read what cgroup v1 alone has, weights, and rdma. */
#pragma once
#include <stdbool.h>

#include "oci/resources.h"

struct err;
struct json_at;

/* A limit: its form in cgroup v2, and in v1. */
struct resources_limit {
	const char *file;
	char *text; /* given away */
	const char *v1;
	char *v1_text; /* given away; NULL: as `text` */
	const char *member;
	bool is_no_limit;
};

void resources_add(struct resources *r, struct resources_limit l);

/* Reads members of resources.memory that v1 alone has. */
int resources_read_memory_v1(const struct json_at *at, struct resources *r,
			     struct err *e);
/* Reads members of resources.cpu that v1 alone has. */
int resources_read_cpu_v1(const struct json_at *at, struct resources *r, struct err *e);
/* Reads the weights of resources.blockIO. */
int resources_read_weights(const struct json_at *at, struct resources *r, struct err *e);
/* Reads resources.rdma, an object of devices. */
int resources_read_rdma(const struct json_at *at, struct resources *r, struct err *e);
/* Reads resources.network, which v1 alone has. */
int resources_read_network(const struct json_at *at, struct resources *r, struct err *e);
