/* cow_mount -- a folder of the host's that can be written to and stays as it is: an
 * overlay with it below and a folder of ours (sandbox/cow.h) above. */
#pragma once

struct err;
struct step;

/* Of a STEP_COW: a mount that is attached nowhere yet.  Leaves the working directory
 * where no path leads.  File systems that are mounted in the source are not seen: an
 * overlay shows one of them. */
int cow_mount(const struct step *s, struct err *e);
