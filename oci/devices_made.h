/* devices_made -- the device files that a verb makes for its container, and hands over.
 *
 * A container in another user namespace may make none (mknod(2)).  Without these it shows the
 * host's file of the same path, with the host's owner and mode, where there is one. */
#pragma once

struct config;

/* Makes the devices of the configuration, as far as this process may, with the owner and mode
 * that it asks for.  ret[i] becomes a descriptor of a mount that shows the file of device i
 * alone, owned by the caller, or stays as it is. */
void devices_make(const struct config *c, int *ret);
