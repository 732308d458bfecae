/* listen -- the sockets on which hutch-serve is reached. */
#pragma once

struct err;

/* Listens on ADDRESS:PORT; the address is numeric, IPv6 in brackets, and port 0 is any.
 * `flag` names the address in errors, such as "--listen".  *ret_name is the address that
 * was got, allocated.  Returns a descriptor, or -1. */
int listen_tcp(const char *flag, const char *address, char **ret_name, struct err *e);

/* Listens on a unix socket at this path, which its owner alone can reach.  A socket that is there
 * already is replaced where no process listens on it. */
int listen_unix(const char *path, struct err *e);
