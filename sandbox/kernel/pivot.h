/* pivot -- makes a mounted tree the root of this process's mount namespace. */
#pragma once

#include <stdbool.h>

struct err;

/* Needs: `root`, a descriptor of the root of a mount that covers "/"; CAP_SYS_ADMIN over
 * the mount namespace.  Does: pivot_root(2), then unmounts the old root, and each mount
 * that lay over "/" beside `root`.  Leaves: the working directory at the new root, and the
 * old one out of reach.  Fails if any mount still covers the new root.  `is_shared`: the
 * old root shares mounts with the host.  They are made slaves of the host's first;
 * otherwise the kernel would unmount the host's, too. */
int pivot_into(int root, bool is_shared, struct err *e);
