/* spawner -- the process of hutch-serve that makes sandboxes and images.
 *
 * It reads no HTTP.  It answers the front's requests (order.h) by running `hutch`, and hands
 * the front a connection to each sandbox.  The front thus needs no right to run a program or to
 * open a file, and can reach no sandbox but those that have the server's label.
 *
 * A request decides about a sandbox: its name, image, command, variables, labels, working
 * folder, plugins that hutch ships, and the ports that are published on loopback.  All else is
 * the operator's (struct serve): mounts, limits, network, policy. */
#pragma once

struct err;
struct serve;

/* Serves the socket `link` until the front closes it; returns 0, or -1 with an error.  SIGTERM
 * and SIGINT (`signals`, a signalfd) are passed on to the front as one byte, "s". */
int spawner_run(const struct serve *s, int link, int signals, struct err *e);
