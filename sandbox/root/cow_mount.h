/* cow_mount -- mounts a host folder so that it can be written to but stays as it is:
 * an overlay with that folder as its lower layer and a folder of hutch's own as its
 * upper one (sandbox/root/cow.h). */
#pragma once

struct err;
struct step;

/* Makes the mount of a STEP_COW, attached nowhere yet.  Leaves the working directory
 * in a tmpfs that is mounted nowhere any more.  File systems that are mounted below
 * the source are not seen: an overlay shows only the file system of its lower folder. */
int cow_mount(const struct step *s, struct err *e);
