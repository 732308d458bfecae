/* overlay -- a root that can be written to above an image that cannot. */
#pragma once

struct err;
struct step;

/* Mounts an overlay with the step's source below and, above, the step's folder
 * on disk or a tmpfs of the sandbox's own; attached where the caller's paths do
 * not lead.  A descriptor of its root. */
int overlay_mount(const struct step *s, struct err *e);
