/* mounts -- a bundle's root, mounts, devices and hidden paths, as a raw plan. */
#pragma once

struct config;
struct err;
struct raw_plan;

/* Adds the steps.  `bundle` is the folder that relative sources are relative to.  Runs in the container's process,
 * in its namespaces, before the steps are done. */
int mounts_plan(const struct config *c, const char *bundle, struct raw_plan *ret,
		struct err *e);
