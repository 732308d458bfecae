/* credentials -- the user name and password, or token, for a registry.
 *
 * Docker login and similar programs store them (docker-credential-helpers' protocol;
 * containers-auth.json(5)).  The file is $REGISTRY_AUTH_FILE, else
 * $DOCKER_CONFIG/config.json, else ~/.docker/config.json.  In it, for a host:
 *
 *	credHelpers	{"HOST": "NAME"}: the program docker-credential-NAME has them
 *	auths		{"HOST": {"auth": base64 of USER:PASSWORD}}; also username,
 *			password and identitytoken.  HOST may be a URL, as docker hub's
 *			"https://index.docker.io/v1/", or HOST/PATH for what is below it
 *	credsStore	"NAME": the same for all other hosts
 *
 * No error and no command line holds a secret: a helper reads the host from its stdin. */
#pragma once
#include <stddef.h>

struct err;

#define CREDENTIALS_FILE_MAX   (1u << 20)
#define CREDENTIALS_SECRET_MAX 16384 /* limit of a secret's bytes: some are long tokens */

struct credentials {
	char *user, *password; /* owned; NULL: there are none */
	char *token;	       /* owned; an identity token, which replaces user and
			        * password */
	char *from;	       /* owned; where the credentials were found; NULL:
			        * nowhere */
};

/* Finds the credentials for a registry, in the form of references: "docker.io",
 * "localhost:5000".  Having none is no error: `ret` is then the zero object. */
int credentials_find(const char *registry, const char *repository,
		     struct credentials *ret, struct err *e);
void credentials_done(struct credentials *c);

/* Reads the credentials from a file's text; `from` names the file in errors.  If the
 * file names a helper that has them, *ret_helper, allocated, is the helper's NAME. */
int credentials_read(const char *text, size_t len, const char *from, const char *registry,
		     const char *repository, struct credentials *ret, char **ret_helper,
		     struct err *e);

/* Reads a helper's answer. */
int credentials_read_answer(const char *text, size_t len, struct credentials *ret,
			    struct err *e);
