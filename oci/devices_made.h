/* devices_made -- the device files that a verb makes for its container, and hands over.
 *
 * A container in another user namespace may make none (mknod(2)).  Without these it shows the
 * host's file of the same path, with the host's owner and mode, where there is one. */
#pragma once

struct config;

/* Stands for a device that could not be made: a number less than -1, which has the errno or
 * RAW_NO_OWNER as its reason.  The container's own process tells the reason if it finds no
 * file to show. */
#define DEVICES_REFUSED(sys)	(-1 - (sys))
#define DEVICES_REASON(refused) (-1 - (refused))

/* Makes the devices of the configuration, as far as this process may, with the owner and mode
 * that it asks for.  ret[i] becomes a descriptor of a mount that shows the file of device i
 * alone, owned by the caller; or DEVICES_REFUSED; or stays as it is, where the container makes
 * its devices itself.  Each device takes a descriptor, which RLIMIT_NOFILE bounds. */
void devices_make(const struct config *c, int *ret);
