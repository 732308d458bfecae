/* peers -- the process that connects a sandbox to others of its networks (--network-join).
 *
 * hutch-egress must not open unix sockets or files, and a confined supervisor may not
 * connect.  So this process is forked before both are confined, and gets requests from
 * hutch-egress (egress/peer_frames.h).  A request has a name and a port, and no path.
 * The name has to be one of a sandbox of this user that has joined one of the networks
 * of this one, as the registry says: the process then passes one end of a pair of
 * connected sockets to the other sandbox's supervisor (the method net.connect of
 * docs/control.md), which checks the network once more, and the other end to
 * hutch-egress.
 *
 * It has no capability, opens files of the state folder alone and for reading alone, and
 * makes no other calls than those in policy/seccomp/peers.json.  A sandbox whose process
 * cannot be confined does not start.  It ends when hutch-egress ends. */
#pragma once

struct err;
struct launch;

/* Starts the process in l->peers, if the policy joins a network, waits until it has
 * confined itself, and puts the socket for hutch-egress in l->egress.peers. */
int peers_start(struct launch *l, struct err *e);
