/* native -- hutch's own API: the methods of a sandbox's control socket (docs/control.md), over
 * HTTP (docs/hutch-serve.md).
 *
 * POST /v1/sandboxes/ID/METHOD calls a method, with the body as its params.  An answer is one
 * JSON text, by the connection that the server has to that sandbox; or a stream of server-sent
 * events, by a connection of its own, whose processes end with the request. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct gateway;
struct hutch_error;
struct visit;

enum native_form {
	NATIVE_BOTH,   /* one answer, or a stream where the client asks for one */
	NATIVE_STREAM, /* a stream only: notifications are the method's purpose */
	NATIVE_PLAIN   /* one answer only */
};

struct native_method {
	const char *name;
	enum native_form form;
	bool wakes;	  /* a paused sandbox is resumed first */
	bool has_process; /* the result has `process`, whose end is waited for */
	bool is_endless;  /* the stream goes on behind the result */
	bool is_operators; /* it changes what the sandbox may do: its own key is not enough */
	const char
		*refusal; /* the reason why the server does not call it; NULL: it does */
};

/* The methods; the last one has no name. */
extern const struct native_method native_methods[];

/* Answers {"error":{"kind","message","remedy"}} with the status of that kind. */
void native_fail(struct visit *v, const struct hutch_error *why);
/* The same for a request that is wrong; `kind` is one of hutch_kind. */
void native_refuse(struct visit *v, int kind, const char *message);

/* Answers with a stream.  v->state has the params, JSON, and is owned by the stream from then
 * on; native_closed() releases either. */
void native_stream(struct visit *v, const struct native_method *m);
void native_closed(struct visit *v);

/* Ends the streams that do not end by themselves: the server stops. */
void native_stop(struct gateway *g);
