/* egress_presets -- the lists of names that hutch brings: policy/egress/presets/NAME.json.
 *
 * Each is a JSON object, embedded as text: "about", "date" (the day on which the names
 * were compared with their source), "source" (addresses of the vendor's own pages) and
 * "rules", an array of targets (egress_rule.h) that are exact names. */
#pragma once
#include <stddef.h>

struct err;
struct list;

/* Returns the names of the presets, ended by NULL, in order. */
const char *const *egress_presets(void);

/* Gives the targets of a preset, appended to `ret`.  ERR_NOT_FOUND, with the name that is
 * nearest. */
int egress_preset_targets(const char *name, struct list *ret, struct err *e);

/* Return what a preset says of itself, allocated; NULL: there is no such preset. */
char *egress_preset_about(const char *name);
char *egress_preset_date(const char *name);
