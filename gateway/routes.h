/* routes -- the tables of requests, one for each protocol that the server speaks. */
#pragma once
#include "gateway/gateway.h"

extern const struct routes action_server_routes; /* OpenHands V0, in one sandbox */
extern const struct routes mcp_routes;		 /* MCP servers in it, as OpenHands V0 */
extern const struct routes runtime_routes;	 /* OpenHands' runtime API */
extern const struct routes e2b_routes;		 /* E2B's control API */
extern const struct routes
	envd_routes; /* E2B's envd and code interpreter, in one sandbox */
extern const struct routes native_routes;	 /* hutch's own API, and metrics */
