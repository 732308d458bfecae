/* no_veth -- makes hutch-gate find a kernel without veth devices, so that the bench measures
 * the form GATEWAY_SINGLE on any kernel.  The gate of the bench alone is linked with
 * --wrap=rtnl_link_veth_alloc. */
#include <stddef.h>

struct rtnl_link;
struct rtnl_link *__wrap_rtnl_link_veth_alloc(void);

struct rtnl_link *__wrap_rtnl_link_veth_alloc(void)
{
	return NULL;
}
