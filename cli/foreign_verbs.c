#include "cli/foreign_verbs.h"

#include <stddef.h>
#include <string.h>

#include "base/own.h"

#define LOGIN                                                                   \
	"for a registry, docker login or skopeo login writes a file that hutch " \
	"reads: man hutch-image"
#define NO_DAEMON "hutch has no daemon and no settings; man hutch-policy has policies"
#define ENTER	  "hutch shell NAME opens a shell in a sandbox that has a name"
#define MAKE	  "hutch create NAME makes a sandbox, hutch run CMD runs one command"

static const struct foreign_verb verbs[] = {
	{ "images", "image ls", "hutch image ls lists the images" },
	{ "pull", "image pull",
	  "hutch image pull REF; hutch run --image REF does it, too" },
	{ "push", NULL,
	  "hutch pushes nothing; hutch image export REF writes an archive" },
	{ "build", "image build", "hutch image build -t REF CONTEXT" },
	{ "rmi", "image rm", "hutch image rm REF" },
	{ "import", "image import", "hutch image import PATH" },
	{ "load", "image import", "hutch image import PATH" },
	{ "save", "image export", "hutch image export REF -o PATH" },
	{ "export", "image export",
	  "hutch image export REF -o PATH; files of a sandbox: hutch cp NAME:PATH -" },
	{ "tag", "image tag", "hutch image tag REF NEW" },
	{ "history", "image inspect", "hutch image inspect REF tells all of an image" },
	{ "manifest", "image inspect", "hutch image inspect REF tells all of an image" },
	{ "search", NULL,
	  "hutch searches no registry; hutch image pull takes a reference" },
	{ "login", NULL, LOGIN },
	{ "logout", NULL, LOGIN },

	{ "ls", "ps", "hutch ps lists sandboxes; to run ls: hutch run ls" },
	{ "list", "ps",
	  "hutch ps lists sandboxes, hutch ps -a those that have ended, too" },
	{ "container", "ps", "verbs for sandboxes have no word before them: hutch ps" },
	{ "sandbox", "ps", "verbs for sandboxes have no word before them: hutch ps" },
	{ "top", "stats", "hutch stats NAME; the processes: hutch exec NAME ps" },
	{ "attach", "shell", ENTER },
	{ "enter", "shell", ENTER },
	{ "ssh", "shell", ENTER },
	{ "sh", "shell", ENTER "; a new one: hutch run -it sh" },
	{ "bash", "shell", ENTER "; a new one: hutch run -it bash" },
	{ "restart", "start",
	  "hutch stop NAME, then hutch start NAME, if it was made with --keep" },
	{ "new", "create", MAKE },
	{ "up", "create", MAKE },
	{ "init", "create", MAKE },
	{ "down", "stop", "hutch stop NAME ends a sandbox" },
	{ "terminate", "kill", "hutch kill NAME ends a sandbox at once" },
	{ "delete", "rm", "hutch rm NAME; one that runs: hutch rm -f NAME" },
	{ "remove", "rm", "hutch rm NAME; one that runs: hutch rm -f NAME" },
	{ "destroy", "rm", "hutch rm NAME; one that runs: hutch rm -f NAME" },
	{ "clone", "fork", "hutch fork NAME NEW makes a sandbox like another one" },
	{ "copy", "cp", "hutch cp SRC NAME:DST copies into a sandbox" },
	{ "prune", NULL,
	  "ended sandboxes: hutch rm $(hutch ps -aq); images: hutch image gc" },
	{ "gc", "image gc", "hutch image gc removes what no image needs" },
	{ "system", NULL,
	  "hutch doctor tells about this host, hutch image gc frees space" },
	{ "network", "net",
	  "hutch run --allow HOST reaches hosts by name; hutch net NAME allow HOST, while it lives" },
	{ "volume", NULL, "folders of this host are shown: hutch run -v SRC:DST CMD" },
	{ "compose", NULL,
	  "hutch runs no groups of sandboxes; a script of hutch create can" },
	{ "info", "doctor", "hutch doctor tells about this host" },
	{ "check", "doctor", "hutch doctor tells about this host" },
	{ "status", "ps", "hutch ps lists sandboxes, hutch inspect NAME tells of one" },
	{ "config", NULL, NO_DAEMON },
	{ "daemon", NULL, NO_DAEMON },
	{ "upgrade", NULL, "hutch does not update itself: install it again as before" },
	{ "install", NULL,
	  "in an image, as its root: RUN in a Dockerfile, hutch image build" },
};

const struct foreign_verb *foreign_verbs_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (!strcmp(verbs[i].name, name))
			return &verbs[i];
	return NULL;
}
