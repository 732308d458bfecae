#include "egress/gate/gateway.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/nsfs.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/link/veth.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>

#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "egress/gate/raw_socket.h"
#include "egress/gate/tproxy.h"
#include "sandbox/kernel/caps.h"

#define GATE_DEVICE  "gate"
#define GUEST_DEVICE "eth0"
#define MESSAGE_MAX  1024 /* bytes of a request or a reply, and more than any has */
#define LOOPBACK     1 /* the index of lo in each namespace */
/* Names that no rule allows get addresses of this range; DNS hands them out
 * (egress/dns_names.h). */
#define REFUSED_RANGE "198.19.0.0/16"

/* --- netlink ---------------------------------------------------------------------- */

/* libnl returns its own error numbers, each of which stands for an errno or for a bug. */
static int failed(int code, const char *what, struct err *e)
{
	static const int errnos[] = {
		[NLE_PERM] = EPERM,
		[NLE_NOACCESS] = EACCES,
		[NLE_EXIST] = EEXIST,
		[NLE_NODEV] = ENODEV,
		[NLE_OPNOTSUPP] = EOPNOTSUPP,
		[NLE_NOMEM] = ENOMEM,
		[NLE_AF_NOSUPPORT] = EAFNOSUPPORT,
	};
	const unsigned index = (unsigned)(code < 0 ? -code : code);

	errno = index < ARRAY_LEN(errnos) && errnos[index] ? errnos[index] : EINVAL;
	(void)err_sys(e, "%s", what);
	if (errno == EINVAL)
		(void)err_in(e, "netlink error %u", index);
	return -1;
}

/* Makes a netlink socket, which belongs to the network namespace of this moment.  By itself
 * libnl has a page for each request and four for each reply, after it has asked for the
 * reply's size; musl maps and unmaps these anew each time. */
static struct nl_sock *connect_netlink(struct err *e)
{
	struct nl_sock *s = nl_socket_alloc();
	int code = s ? nl_connect(s, NETLINK_ROUTE) : -NLE_NOMEM;

	if (code == 0)
		code = nl_socket_set_msg_buf_size(s, MESSAGE_MAX);
	if (code == 0) {
		nl_socket_disable_msg_peek(s);
		return s;
	}
	nl_socket_free(s);
	(void)failed(code, "open a netlink socket", e);
	return NULL;
}

static struct nl_addr *parse(const char *text)
{
	struct nl_addr *ret = NULL;

	/* cannot fail: the texts are constants of this file, and memory is there */
	(void)nl_addr_parse(text, strchr(text, ':') ? AF_INET6 : AF_INET, &ret);
	return ret;
}

static int set_up(struct nl_sock *s, int device, struct err *e)
{
	struct rtnl_link *which = rtnl_link_alloc(), *change = rtnl_link_alloc();

	rtnl_link_set_ifindex(which, device);
	rtnl_link_set_flags(change, IFF_UP);
	int code = rtnl_link_change(s, which, change, 0);
	rtnl_link_put(which);
	rtnl_link_put(change);
	return code < 0 ? failed(code, "set a network device up", e) : 0;
}

/* Gives the device an address, with the other end's address as its peer; NULL: none. */
static int add_address(struct nl_sock *s, int device, const char *own, const char *peer,
		       struct err *e)
{
	struct rtnl_addr *a = rtnl_addr_alloc();
	struct nl_addr *local = parse(own), *remote = peer ? parse(peer) : NULL;

	rtnl_addr_set_ifindex(a, device);
	(void)rtnl_addr_set_local(a, local);
	if (remote)
		(void)rtnl_addr_set_peer(a, remote);
	/* Without IFA_F_NODAD an IPv6 address is tentative for a second. */
	if (nl_addr_get_family(local) == AF_INET6)
		rtnl_addr_set_flags(a, IFA_F_NODAD);
	int code = rtnl_addr_add(s, a, 0);
	nl_addr_put(local);
	nl_addr_put(remote);
	rtnl_addr_put(a);
	return code < 0 ? failed(code, "add a network address", e) : 0;
}

struct way {
	const char *to;
	uint8_t type;		      /* RTN_* */
	int device;		      /* 0: none */
	const char *gateway, *source; /* NULL: none */
};

/* Adds a route to the main table: routes to all addresses in the local table would take
 * the answers to the guest, too. */
static int add_route(struct nl_sock *s, const struct way *w, struct err *e)
{
	struct rtnl_route *r = rtnl_route_alloc();
	struct rtnl_nexthop *hop = rtnl_route_nh_alloc();
	struct nl_addr *to = parse(w->to);
	struct nl_addr *gateway = w->gateway ? parse(w->gateway) : NULL;
	struct nl_addr *source = w->source ? parse(w->source) : NULL;

	rtnl_route_set_table(r, RT_TABLE_MAIN);
	rtnl_route_set_type(r, w->type);
	rtnl_route_set_scope(r, w->type == RTN_LOCAL ? RT_SCOPE_HOST : RT_SCOPE_UNIVERSE);
	(void)rtnl_route_set_dst(r, to);
	if (source)
		(void)rtnl_route_set_pref_src(r, source);
	if (w->device)
		rtnl_route_nh_set_ifindex(hop, w->device);
	if (gateway)
		rtnl_route_nh_set_gateway(hop, gateway);
	rtnl_route_add_nexthop(r, hop);
	int code = rtnl_route_add(s, r, 0);
	nl_addr_put(to);
	nl_addr_put(gateway);
	nl_addr_put(source);
	rtnl_route_put(r);
	return code < 0 ? failed(code, "add a route", e) : 0;
}

static int add_routes(struct nl_sock *s, const struct way *ways, size_t count,
		      struct err *e)
{
	for (size_t i = 0; i < count; i++)
		if (add_route(s, &ways[i], e) < 0)
			return -1;
	return 0;
}

/* --- the two forms ---------------------------------------------------------------- */

static bool kernel_has_ipv6(void)
{
	return access("/proc/sys/net/ipv6", F_OK) == 0;
}

/* Gives the device one queue each way.  By itself the kernel makes one for each processor
 * that the machine could have, with a folder in sysfs each; veth devices take no lock when
 * they send, and so more queues are of no use to the two. */
static void set_one_queue(struct rtnl_link *device)
{
	rtnl_link_set_num_tx_queues(device, 1);
	rtnl_link_set_num_rx_queues(device, 1);
}

/* Makes the pair of devices: this namespace's end, and the guest's in `inside`. */
static int make_pair(struct nl_sock *s, int inside, struct err *e)
{
	struct rtnl_link *pair = rtnl_link_veth_alloc();

	if (!pair)
		return failed(-NLE_OPNOTSUPP, "make a pair of network devices (veth)", e);
	rtnl_link_set_name(pair, GATE_DEVICE);
	struct rtnl_link *peer = rtnl_link_veth_get_peer(pair);
	rtnl_link_set_name(peer, GUEST_DEVICE);
	rtnl_link_set_ns_fd(peer, inside);
	set_one_queue(pair);
	set_one_queue(peer);
	int code = rtnl_link_add(s, pair, NLM_F_CREATE | NLM_F_EXCL);
	rtnl_link_put(peer);
	rtnl_link_veth_release(pair);
	return code < 0 ? failed(code, "make a pair of network devices (veth)", e) : 0;
}

static int device_index(const char *name, struct err *e)
{
	unsigned index = if_nametoindex(name);

	return index ? (int)index : err_sys(e, "look for the network device %s", name);
}

/* The guest's end: addresses with the gate as their peer, so that no other address is on
 * the link and each packet goes to the gate. */
static int set_up_guest(struct nl_sock *s, bool has_ipv6, struct err *e)
{
	int device = device_index(GUEST_DEVICE, e);
	const struct way ways[] = {
		{ "0.0.0.0/0", RTN_UNICAST, device, GATEWAY_GATE, NULL },
		{ REFUSED_RANGE, RTN_PROHIBIT, 0, NULL, NULL }, /* layer: refused-names */
		{ GATEWAY_GATE6 "/128", RTN_UNICAST, device, NULL, NULL },
		{ "::/0", RTN_UNICAST, device, GATEWAY_GATE6, NULL },
	};

	if (device < 0 ||
	    add_address(s, device, GATEWAY_GUEST "/32", GATEWAY_GATE "/32", e) < 0)
		return -1;
	if (has_ipv6 && add_address(s, device, GATEWAY_GUEST6 "/128", NULL, e) < 0)
		return -1;
	if (set_up(s, device, e) < 0)
		return -1;
	return add_routes(s, ways, has_ipv6 ? ARRAY_LEN(ways) : 2, e);
}

static int set_up_gate(struct nl_sock *s, bool has_ipv6, struct err *e)
{
	int device = device_index(GATE_DEVICE, e);
	const struct way ways[] = {
		{ "0.0.0.0/0", RTN_LOCAL, LOOPBACK, NULL, NULL },
		{ GATEWAY_GUEST6 "/128", RTN_UNICAST, device, NULL, NULL },
		{ "::/0", RTN_LOCAL, LOOPBACK, NULL, NULL },
	};

	if (device < 0 ||
	    add_address(s, device, GATEWAY_GATE "/32", GATEWAY_GUEST "/32", e) < 0)
		return -1;
	if (has_ipv6 && add_address(s, device, GATEWAY_GATE6 "/128", NULL, e) < 0)
		return -1;
	if (set_up(s, device, e) < 0)
		return -1;
	return add_routes(s, ways, has_ipv6 ? ARRAY_LEN(ways) : 1, e);
}

/* Answers no ping: the kernel would answer for every address.  Tells of every datagram to a
 * closed port: the kernel would tell of some in a second (icmp(7), icmp_ratemask), and a
 * client of the others, such as a resolver or a browser, would wait. */
static int set_up_icmp(bool has_ipv6, struct err *e)
{
	static const char *const settings[][2] = {
		{ "/proc/sys/net/ipv4/icmp_echo_ignore_all", "1" },
		{ "/proc/sys/net/ipv4/icmp_ratemask", "0" },
		{ "/proc/sys/net/ipv6/icmp/echo_ignore_all", "1" },
		/* 127 is no type of a message; a list of types cannot be empty */
		{ "/proc/sys/net/ipv6/icmp/ratemask", "127" },
	};

	for (size_t i = 0; i < (has_ipv6 ? ARRAY_LEN(settings) : 2); i++)
		if (io_write_proc(AT_FDCWD, settings[i][0], settings[i][1], e) < 0)
			return -1;
	return 0;
}

static int enter_inside(int inside, struct err *e)
{
	return setns(inside, CLONE_NEWNET) < 0
		       ? err_sys(e, "enter the sandbox's network namespace")
		       : 0;
}

static int enter_gateway(const struct gateway *g, struct err *e)
{
	return setns(g->space, CLONE_NEWNET) < 0
		       ? err_sys(e, "enter the gateway's network namespace")
		       : 0;
}

/* Called in the sandbox's namespace; leaves the process in the gateway's. */
static int make_pair_form(const struct gateway *g, int inside, struct err *e)
{
	struct nl_sock *guest = connect_netlink(e), *gate = NULL;
	int result = guest ? enter_gateway(g, e) : -1;

	if (result == 0 && !(gate = connect_netlink(e)))
		result = -1;
	if (result == 0)
		result = make_pair(gate, inside, e);
	if (result == 0)
		result = set_up_gate(gate, g->has_ipv6, e);
	if (result == 0)
		result = set_up_icmp(g->has_ipv6, e);
	/* The guest's device is looked up by its name, in the guest's namespace. */
	if (result == 0)
		result = enter_inside(inside, e);
	if (result == 0)
		result = set_up_guest(guest, g->has_ipv6, e);
	if (result == 0)
		result = enter_gateway(g, e);
	nl_socket_free(guest);
	nl_socket_free(gate);
	return result;
}

/* Every address is local in the sandbox's own namespace.  Connections come from an
 * address that is not loopback: getaddrinfo(3) asks for no IPv4 address where loopback is
 * all there is (AI_ADDRCONFIG), and a connection whose source is its destination could
 * meet itself. */
static int make_single_form(bool has_ipv6, struct err *e)
{
	const struct way ways[] = {
		{ "0.0.0.0/0", RTN_LOCAL, LOOPBACK, NULL, GATEWAY_GUEST },
		{ REFUSED_RANGE, RTN_PROHIBIT, 0, NULL, NULL },
		{ "::/0", RTN_LOCAL, LOOPBACK, NULL, GATEWAY_GUEST6 },
	};
	struct nl_sock *s = connect_netlink(e);
	int result = -1;

	if (s && add_address(s, LOOPBACK, GATEWAY_GUEST "/32", NULL, e) == 0 &&
	    (!has_ipv6 ||
	     add_address(s, LOOPBACK, GATEWAY_GUEST6 "/128", NULL, e) == 0) &&
	    add_routes(s, ways, has_ipv6 ? ARRAY_LEN(ways) : 2, e) == 0)
		result = set_up_icmp(has_ipv6, e);
	nl_socket_free(s);
	return result;
}

/* --- the sockets ------------------------------------------------------------------ */

/* Opens a socket at `port` of all addresses, of both families where there are two. */
static int open_socket(bool has_ipv6, int type, uint16_t port, struct err *e)
{
	const int off = 0, on = 1;
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr *to = has_ipv6 ? (void *)&six : (void *)&four;
	AUTO_CLOSE int fd = socket(to->sa_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 ||
	    (has_ipv6 &&
	     setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) < 0) ||
	    (type == SOCK_DGRAM &&
	     (has_ipv6 ? setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof(on))
		       : setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof(on))) < 0) ||
	    bind(fd, to, has_ipv6 ? sizeof(six) : sizeof(four)) < 0 ||
	    (type == SOCK_STREAM && listen(fd, 128) < 0))
		return err_sys(e, "open port %u of the gateway", port);
	return fd_take(&fd);
}

static int add_listener(struct gateway *g, uint16_t port, struct err *e)
{
	int fd = open_socket(g->has_ipv6, SOCK_STREAM, port, e);

	if (fd < 0)
		return -1;
	g->listeners[g->count++] = fd;
	return 0;
}

/* Has the listener of port 53 accept the connections to all ports. */
static int widen_listener(struct gateway *g, struct err *e)
{
	const int on = 1;

	if (g->form == GATEWAY_SINGLE) {
		(void)err_set(e, ERR_UNSUPPORTED,
			      "rules for each port of a host, or for more than 64 ports, "
			      "need the kernel's module veth, which is not there");
		return err_remedy(
			e, "as root: modprobe veth; or name at most 64 ports: HOST:PORT");
	}
	if (setsockopt(g->listeners[0], IPPROTO_IP, IP_TRANSPARENT, &on, sizeof(on)) < 0)
		return err_sys(e, "make the gateway's listener transparent");
	return tproxy_make(g->has_ipv6, 53, e);
}

/* Where all ports lead to the gate, no TCP packet is refused. */
static int open_all_refused(struct gateway *g, const struct gateway_ports *ports,
			    struct err *e)
{
	for (int i = 0; i < (g->has_ipv6 ? GATEWAY_REFUSED : GATEWAY_REFUSED / 2); i++) {
		const bool is_udp = i % 2;
		if (ports->are_all && !is_udp)
			continue;
		g->refused[i] = raw_socket_open(is_udp, i >= GATEWAY_REFUSED / 2,
						ports->items, ports->count, e);
		if (g->refused[i] < 0)
			return -1;
	}
	return 0;
}

static int open_sockets(struct gateway *g, const struct gateway_ports *ports,
			struct err *e)
{
	if (g->form == GATEWAY_PAIR && open_all_refused(g, ports, e) < 0)
		return -1;

	g->datagrams = open_socket(g->has_ipv6, SOCK_DGRAM, 53, e);
	if (g->datagrams < 0 || add_listener(g, 53, e) < 0)
		return -1;
	if (ports->are_all)
		return widen_listener(g, e);
	for (size_t i = 0; i < ports->count; i++)
		if (add_listener(g, ports->items[i], e) < 0)
			return -1;
	return 0;
}

/* --- all --------------------------------------------------------------------------- */

void gateway_init(struct gateway *g)
{
	*g = (struct gateway){ .space = -1, .datagrams = -1 };
	for (size_t i = 0; i < GATEWAY_REFUSED; i++)
		g->refused[i] = -1;
}

void gateway_done(struct gateway *g)
{
	own_close(&g->space);
	own_close(&g->datagrams);
	for (size_t i = 0; i < g->count; i++)
		own_close(&g->listeners[i]);
	g->count = 0;
	for (size_t i = 0; i < GATEWAY_REFUSED; i++)
		own_close(&g->refused[i]);
}

/* Joins the user namespace that owns the sandbox's network namespace, which gives this
 * process all capabilities there, and then the network namespace. */
static int join(int inside, struct err *e)
{
	AUTO_CLOSE int owner = ioctl(inside, NS_GET_USERNS);

	if (owner < 0)
		return err_sys(e, "find the sandbox's user namespace");
	if (setns(owner, CLONE_NEWUSER) < 0)
		return err_sys(e, "enter the sandbox's user namespace");
	return enter_inside(inside, e);
}

/* Makes the network in the form that the kernel has. */
static int make_network(struct gateway *g, int inside, struct err *e)
{
	g->has_ipv6 = kernel_has_ipv6();
	g->form = GATEWAY_PAIR;
	if (make_pair_form(g, inside, e) == 0)
		return 0;
	if (e->sys != EOPNOTSUPP)
		return -1;
	/* this kernel has no veth devices */
	g->form = GATEWAY_SINGLE;
	own_close(&g->space);
	return enter_inside(inside, e) < 0 ? -1 : make_single_form(g->has_ipv6, e);
}

int gateway_make(struct gateway *g, int inside, const struct gateway_ports *ports,
		 struct err *e)
{
	if (join(inside, e) < 0)
		return -1;
	nlmsg_set_default_size(MESSAGE_MAX);
	/* musl keeps a page of blocks mapped while one of them is in use. */
	struct nl_msg *kept = nlmsg_alloc();
	int result = make_network(g, inside, e);
	nlmsg_free(kept);
	return result < 0 ? -1 : open_sockets(g, ports, e);
}
