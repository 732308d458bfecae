#include "egress/gate/tproxy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/own.h"

#define TABLE	 "hutch"
#define CHAIN	 "ports"
#define PRIORITY (-150) /* of the kernel's own `mangle` table, where TPROXY stands */

/* The messages of one transaction: all are carried out, or none (nfnetlink_batch). */
struct batch {
	uint8_t bytes[1024]; /* more than twice what the messages need */
	size_t len, message; /* `message`: where the last one begins */
};

/* --- messages ----------------------------------------------------------------------- */

/* Appends bytes, and zeros up to a multiple of four (NLMSG_ALIGN, NLA_ALIGN). */
static void put(struct batch *b, const void *bytes, size_t len)
{
	memcpy(b->bytes + b->len, bytes, len);
	b->len += NLA_ALIGN(len);
}

static void begin_message(struct batch *b, uint16_t type, uint8_t family, uint16_t flags)
{
	const struct nlmsghdr head = { .nlmsg_type = type,
				       .nlmsg_flags = NLM_F_REQUEST | flags,
				       .nlmsg_seq = type };
	/* The id is read in the message that begins the transaction. */
	const struct nfgenmsg more = { .nfgen_family = family,
				       .res_id = htons(NFNL_SUBSYS_NFTABLES) };

	b->message = b->len;
	put(b, &head, sizeof(head));
	put(b, &more, sizeof(more));
}

static void end_message(struct batch *b)
{
	const uint32_t len = (uint32_t)(b->len - b->message);

	memcpy(b->bytes + b->message, &len, sizeof(len));
}

/* Begins an attribute that has others; returns its place for end_nest(). */
static size_t begin_nest(struct batch *b, uint16_t type)
{
	const struct nlattr head = { .nla_type = type | NLA_F_NESTED };
	const size_t at = b->len;

	put(b, &head, sizeof(head));
	return at;
}

static void end_nest(struct batch *b, size_t at)
{
	const uint16_t len = (uint16_t)(b->len - at);

	memcpy(b->bytes + at, &len, sizeof(len));
}

static void put_attribute(struct batch *b, uint16_t type, const void *bytes, size_t len)
{
	const struct nlattr head = { .nla_len = (uint16_t)(NLA_HDRLEN + len),
				     .nla_type = type };

	put(b, &head, sizeof(head));
	put(b, bytes, len);
}

static void put_text(struct batch *b, uint16_t type, const char *text)
{
	put_attribute(b, type, text, strlen(text) + 1);
}

static void put_number(struct batch *b, uint16_t type, uint32_t value)
{
	const uint32_t in_order = htonl(value);

	put_attribute(b, type, &in_order, sizeof(in_order));
}

/* --- the rule ----------------------------------------------------------------------- */

static uint16_t type_of(enum nf_tables_msg_types type)
{
	return (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type);
}

static void put_table(struct batch *b, uint8_t family)
{
	begin_message(b, type_of(NFT_MSG_NEWTABLE), family, NLM_F_CREATE);
	put_text(b, NFTA_TABLE_NAME, TABLE);
	end_message(b);
}

static void put_chain(struct batch *b, uint8_t family)
{
	begin_message(b, type_of(NFT_MSG_NEWCHAIN), family, NLM_F_CREATE);
	put_text(b, NFTA_CHAIN_TABLE, TABLE);
	put_text(b, NFTA_CHAIN_NAME, CHAIN);
	put_text(b, NFTA_CHAIN_TYPE, "filter");
	size_t hook = begin_nest(b, NFTA_CHAIN_HOOK);
	put_number(b, NFTA_HOOK_HOOKNUM, NF_INET_PRE_ROUTING);
	put_number(b, NFTA_HOOK_PRIORITY, (uint32_t)PRIORITY);
	end_nest(b, hook);
	end_message(b);
}

/* An expression is a name and data, in an element of the rule's list. */
struct expression {
	size_t element, data;
};

static struct expression begin_expression(struct batch *b, const char *name)
{
	struct expression x = { .element = begin_nest(b, NFTA_LIST_ELEM) };

	put_text(b, NFTA_EXPR_NAME, name);
	x.data = begin_nest(b, NFTA_EXPR_DATA);
	return x;
}

static void end_expression(struct batch *b, const struct expression *x)
{
	end_nest(b, x->data);
	end_nest(b, x->element);
}

static void put_value(struct batch *b, uint16_t type, const void *bytes, size_t len)
{
	size_t nest = begin_nest(b, type);

	put_attribute(b, NFTA_DATA_VALUE, bytes, len);
	end_nest(b, nest);
}

/* Breaks the rule off for other protocols: "meta l4proto tcp". */
static void put_is_tcp(struct batch *b)
{
	const uint8_t tcp = IPPROTO_TCP;
	struct expression x = begin_expression(b, "meta");

	put_number(b, NFTA_META_KEY, NFT_META_L4PROTO);
	put_number(b, NFTA_META_DREG, NFT_REG_1);
	end_expression(b, &x);
	x = begin_expression(b, "cmp");
	put_number(b, NFTA_CMP_SREG, NFT_REG_1);
	put_number(b, NFTA_CMP_OP, NFT_CMP_EQ);
	put_value(b, NFTA_CMP_DATA, &tcp, sizeof(tcp));
	end_expression(b, &x);
}

/* Hands the packet to its connection, or to the listener: "tproxy to :PORT". */
static void put_tproxy(struct batch *b, uint8_t family, uint16_t port)
{
	const uint16_t in_order = htons(port);
	struct expression x = begin_expression(b, "immediate");

	put_number(b, NFTA_IMMEDIATE_DREG, NFT_REG_1);
	put_value(b, NFTA_IMMEDIATE_DATA, &in_order, sizeof(in_order));
	end_expression(b, &x);
	x = begin_expression(b, "tproxy");
	/* NFPROTO_UNSPEC: both families, in a table of both */
	put_number(b, NFTA_TPROXY_FAMILY,
		   family == NFPROTO_INET ? NFPROTO_UNSPEC : family);
	put_number(b, NFTA_TPROXY_REG_PORT, NFT_REG_1);
	end_expression(b, &x);
}

static void put_rule(struct batch *b, uint8_t family, uint16_t port)
{
	begin_message(b, type_of(NFT_MSG_NEWRULE), family,
		      NLM_F_CREATE | NLM_F_APPEND | NLM_F_ACK);
	put_text(b, NFTA_RULE_TABLE, TABLE);
	put_text(b, NFTA_RULE_CHAIN, CHAIN);
	size_t list = begin_nest(b, NFTA_RULE_EXPRESSIONS);
	put_is_tcp(b);
	put_tproxy(b, family, port);
	end_nest(b, list);
	end_message(b);
}

static void put_all(struct batch *b, bool has_ipv6, uint16_t port)
{
	/* A kernel without IPv6 has no tables of both families. */
	const uint8_t family = has_ipv6 ? NFPROTO_INET : NFPROTO_IPV4;

	begin_message(b, NFNL_MSG_BATCH_BEGIN, NFPROTO_UNSPEC, 0);
	end_message(b);
	put_table(b, family);
	put_chain(b, family);
	put_rule(b, family, port);
	begin_message(b, NFNL_MSG_BATCH_END, NFPROTO_UNSPEC, 0);
	end_message(b);
}

/* --- the kernel's answer ------------------------------------------------------------ */

/* The kernel loads a module when it is asked for, so that one which is still missing is
 * not installed or may not be loaded. */
static int fail(const char *module, struct err *e)
{
	const int sys = errno;

	(void)err_sys(e, "give each port of a host to one listener (%s)", module);
	if (sys != ENOENT && sys != EOPNOTSUPP && sys != EPROTONOSUPPORT &&
	    sys != EAFNOSUPPORT)
		return -1;
	(void)err_set(
		e, ERR_UNSUPPORTED,
		"rules for each port of a host, or for more than 64 ports, need the "
		"kernel's module %s, which is not there",
		module);
	return err_remedy(e, "as root: modprobe %s; or name at most 64 ports: HOST:PORT",
			  module);
}

/* Reads the answer, which has come by the end of send(2): the acknowledgement of the rule,
 * or the first error.  The error of the rule itself means an expression that the kernel
 * does not have. */
static int read_answer(int fd, struct err *e)
{
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
		uint8_t rest[1024]; /* the message that is answered, or a part of it */
	} answer;
	ssize_t len = recv(fd, &answer, sizeof(answer), MSG_DONTWAIT);

	if (len < 0)
		return fail("nf_tables", e);
	if (len < (ssize_t)NLMSG_LENGTH(sizeof(answer.error)) ||
	    answer.head.nlmsg_type != NLMSG_ERROR)
		return err_set(e, ERR_PROTOCOL, "nf_tables sent an invalid answer");
	if (!answer.error.error)
		return 0;
	errno = -answer.error.error;
	return fail(answer.error.msg.nlmsg_type == type_of(NFT_MSG_NEWRULE) ? "nft_tproxy"
									    : "nf_tables",
		    e);
}

int tproxy_make(bool has_ipv6, uint16_t port, struct err *e)
{
	struct batch b = { 0 };
	AUTO_CLOSE int fd =
		socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);

	if (fd < 0)
		return fail("nf_tables", e);
	put_all(&b, has_ipv6, port);
	if (send(fd, b.bytes, b.len, 0) < 0)
		return fail("nf_tables", e);
	return read_answer(fd, e);
}
