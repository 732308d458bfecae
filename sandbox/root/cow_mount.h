/* cow_mount -- mounts a host folder that can be written to and stays as it is:
 * an overlay with the folder below and one of hutch's own (sandbox/root/cow.h)
 * above. */
#pragma once

struct err;
struct step;

/* Makes the mount of a STEP_COW, attached nowhere yet.  Leaves the working
 * directory where no path leads.  File systems that are mounted in the source
 * are not seen: an overlay shows only one of them. */
int cow_mount(const struct step *s, struct err *e);
