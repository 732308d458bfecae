/* run_args: docker's words become hutch's, row by row. */
#include "docker/run_args.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/own.h"
#include "docker/args.h"
#include "tests/unit/argv.h"

/* Returns the words of hutch, or the error, for a line behind `docker run`. */
static char *run(const char *line, const char *policy, bool opens_host)
{
	AUTO_FREE char *copy = text_copy(line);
	struct args a = { .policy = policy, .opens_host = opens_host };
	struct list words = { 0 };
	char *argv[ARGV_MAX];
	struct err e;

	argv_split(copy, argv);
	char *ret = run_args_read(argv, "made", &a, &words, &e) < 0
			    ? text_format("error: %s", e.text)
			    : list_join(&words, 0, " ");
	list_done(&words);
	args_done(&a);
	return ret;
}

static const struct {
	const char *docker, *hutch;
} rows[] = {
	{ "alpine", "run --image alpine" },
	{ "--rm alpine true", "run --image alpine -- true" },
	{ "--rm=true -i alpine cat -n", "run -i --image alpine -- cat -n" },
	{ "-it --rm alpine sh", "run -i -t --image alpine -- sh" },
	{ "--rm=false --privileged=false alpine", "run --image alpine" },
	{ "-e A=1 --env B --env=C=2 -eD=3 alpine",
	  "run -e A=1 -e B -e C=2 -e D=3 --image alpine" },
	{ "-u 1:2 -w / --entrypoint sh alpine -c x",
	  "run -u 1:2 -w / --entrypoint sh --image alpine -- -c x" },
	{ "-- alpine -x", "run --image alpine -- -x" },
	{ "-m 1g --cpus=2 --pids-limit 5 alpine",
	  "run --memory 1g --cpus 2 --pids-limit 5 --image alpine" },
	{ "--pids-limit=-1 --init --ulimit core=0 alpine",
	  "run --ulimit core=0 --image alpine" },
	{ "--cap-drop ALL --security-opt no-new-privileges alpine",
	  "run --cap-drop ALL --image alpine" },
	{ "--security-opt seccomp=/p.json alpine",
	  "run --seccomp /p.json --image alpine" },

	/* mounts */
	{ "-v /a:/b alpine", "run -v /a:/b:rw --image alpine" },
	{ "-v ./a:/b:ro,z alpine", "run -v ./a:/b:ro --image alpine" },
	{ "-v data:/b alpine",
	  "run -v /data/hutch-volumes/data/_data:/b:rw --image alpine" },
	{ "--mount type=bind,source=/a,target=/b,readonly alpine",
	  "run -v /a:/b:ro --image alpine" },
	{ "--mount type=bind,source=/a,target=/b,readonly=T alpine",
	  "run -v /a:/b:ro --image alpine" },
	{ "--mount type=bind,source=/a,target=/b,ro=false alpine",
	  "run -v /a:/b:rw --image alpine" },
	{ "--mount src=data,dst=/b alpine",
	  "run -v /data/hutch-volumes/data/_data:/b:rw --image alpine" },
	{ "--mount type=tmpfs,dst=/b,tmpfs-size=1m alpine",
	  "run --tmpfs /b:size=1m --image alpine" },
	{ "--tmpfs /b:rw,nosuid,size=1m --tmpfs /c alpine",
	  "run --tmpfs /b:size=1m --tmpfs /c --image alpine" },

	/* networks and ports */
	{ "--network none alpine", "run --network none --image alpine" },
	{ "--network=host alpine", "run --network host --image alpine" },
	{ "--net bridge alpine", "run --allow * --image alpine" },
	{ "--network web alpine", "run --network-join web:* --image alpine" },
	{ "--add-host host.docker.internal:host-gateway alpine",
	  "run --add-host host.docker.internal:127.0.0.1 --image alpine" },
	{ "--add-host db=10.0.0.1 alpine", "run --add-host db:10.0.0.1 --image alpine" },
	{ "-p 80:8000 -p 127.0.0.1::8001 -p 8002 -p :8003/tcp alpine",
	  "run -p 80:8000 -p 127.0.0.1:auto:8001 -p auto:8002 -p auto:8003/tcp --image "
	  "alpine" },
	{ "-p 8000-8002:9000-9002/tcp alpine",
	  "run -p 8000:9000 -p 8001:9001 -p 8002:9002 --image alpine" },
	{ "-p 127.0.0.1:8000-8001:80-81 -p [::1]:8000-8001:80-81 alpine",
	  "run -p 127.0.0.1:8000:80 -p 127.0.0.1:8001:81 -p [::1]:8000:80 -p [::1]:8001:81 "
	  "--image alpine" },
	{ "-p 80-81 -p :82-83 -p 127.0.0.1::84-84 alpine",
	  "run -p auto:80 -p auto:81 -p auto:82 -p auto:83 -p 127.0.0.1:auto:84 --image "
	  "alpine" },
	{ "-p 8000-8099:80 alpine", "run -p 8000-8099:80 --image alpine" },

	/* in the background */
	{ "-d alpine sleep 2h", "create --main --keep --image alpine made -- sleep 2h" },
	{ "-d --rm --name /x -l a=b alpine",
	  "create --main --rm --label a=b --image alpine x" },
	{ "-d --restart on-failure:3 alpine",
	  "create --main --keep --restart on-failure:3 --image alpine made" },
	{ "-d --stop-signal USR1 alpine",
	  "create --main --keep --stop-signal USR1 --image alpine made" },
	{ "-d --stop-timeout 60 alpine",
	  "create --main --keep --stop-timeout 60 --image alpine made" },
	{ "-d --restart no --rm alpine", "create --main --rm --image alpine made" },

	/* in the foreground, with a name */
	{ "--name x alpine true", "create --main --keep --image alpine x -- true" },
	{ "--rm --name x -l a=b alpine", "create --main --label a=b --image alpine x" },

	/* clients that exist (docs/hutch-docker.md) */
	{ "--rm -p 4000:8000 --name python3.11-1 python:3.11 /bin/sh -c x",
	  "create --main -p 4000:8000 --image python:3.11 python3.11-1 -- /bin/sh -c x" },
	{ "-d --rm --ulimit nofile=65536:65536 --name agent-server-1 -e K=V "
	  "-v /h:/workspace -p 127.0.0.1:30000:8000 IMAGE --host 0.0.0.0",
	  "create --main --rm --ulimit nofile=65536:65536 -e K=V -v /h:/workspace:rw -p "
	  "127.0.0.1:30000:8000 --image IMAGE agent-server-1 -- --host 0.0.0.0" },
	{ "-d --name minisweagent-1 -w / --rm python:3.11 sleep 2h",
	  "create --main --rm -w / --image python:3.11 minisweagent-1 -- sleep 2h" },
	{ "-d --rm --user 10:10 --cap-drop ALL --security-opt no-new-privileges --ulimit "
	  "core=0 --add-host host.docker.internal:host-gateway --label "
	  "ai.openhands.runtime-owner=H --name agent-server-conversation-1 -p "
	  "127.0.0.1::8000 -e NAME -v /h:/t --memory 4g --cpus 2.0 --pids-limit 512 IMAGE "
	  "--host 0.0.0.0 --port 8000",
	  "create --main --rm --add-host host.docker.internal:127.0.0.1 -u 10:10 --cap-drop "
	  "ALL --ulimit core=0 --label ai.openhands.runtime-owner=H -p "
	  "127.0.0.1:auto:8000 -e NAME -v /h:/t:rw --memory 4g --cpus 2.0 --pids-limit 512 "
	  "--image IMAGE agent-server-conversation-1 -- --host 0.0.0.0 --port 8000" },

	/* refused, each with a sentence */
	{ "-p 8000-8001:80-82 alpine",
	  "error: -p 8000-8001:80-82: invalid ranges specified for container and host "
	  "Ports: their lengths differ" },
	{ "-p 81-80 alpine", "error: -p 81-80: invalid range of ports" },
	{ "-p 8000:80-99999 alpine", "error: -p 8000:80-99999: invalid range of ports" },
	{ "-p x-y:80-81 alpine", "error: -p x-y:80-81: invalid range of ports" },
	{ "-p 1-65 alpine", "error: -p 1-65: a sandbox publishes 64 ports at most" },
	{ "", "error: an image is missing" },
	{ "--frob alpine", "error: unknown flag: --frob" },
	{ "-iZ alpine", "error: unknown flag: -Z" },
	{ "--volum a:b alpine", "error: unknown flag: --volum; is it --volume?" },
	{ "-e", "error: flag needs an argument: -e" },
	{ "-d=false --rm=F --privileged=False alpine", "run --image alpine" },
	{ "-i=t alpine", "run -i --image alpine" },
	{ "--rm --rm=false alpine", "error: --rm is given, and --rm=false behind it" },
	{ "--sig-proxy=false alpine",
	  "error: --sig-proxy=false: with hutch it is always so" },
	{ "--rm=maybe alpine", "error: invalid argument \"maybe\" for \"--rm\" flag" },
	{ "--gpus all alpine",
	  "error: --gpus: GPUs are not supported: hutch shows no device "
	  "of this host inside" },
	{ "-v /var/run/docker.sock:/var/run/docker.sock alpine",
	  "error: -v /var/run/docker.sock:/var/run/docker.sock: /var/run/docker.sock is "
	  "refused: whatever reaches that socket is root on this host" },
	{ "--mount type=bind,src=/x/podman.sock,dst=/s alpine",
	  "error: --mount type=bind,src=/x/podman.sock,dst=/s: /x/podman.sock is refused: "
	  "whatever reaches that socket is root on this host" },
	{ "--pid=host alpine",
	  "error: --pid=host is refused: the inside would see, trace "
	  "and signal the processes of this host" },
	{ "--label a=b alpine",
	  "error: --label needs -d or --name: hutch lists no other sandboxes" },
	{ "-d --name --network=host alpine",
	  "error: --name: '--network=host' is no name of a sandbox: 1 to 63 of A-Z a-z 0-9 "
	  "_ . -, the first a letter or a digit" },
	{ "--name -x alpine",
	  "error: --name: '-x' is no name of a sandbox: 1 to 63 of A-Z "
	  "a-z 0-9 _ . -, the first a letter or a digit" },
	{ "-dit alpine",
	  "error: -i and -t with -d or --name: the main process of a sandbox with a name "
	  "has neither stdin nor a terminal" },
	{ "-d --rm --restart always alpine", "error: conflicting options: cannot specify "
					     "both --restart and --rm" },
	{ "-v /data alpine", "error: -v /data: hutch has no volumes without a name; give "
			     "one, or use --tmpfs" },
	{ "-v a/b:/c alpine",
	  "error: -v a/b:/c: 'a/b' is no name of a volume, which has 1 to "
	  "64 of A-Z a-z 0-9 _ . -, and no absolute path" },
	{ "-p 53:53/udp alpine",
	  "error: -p 53:53/udp: hutch publishes ports of TCP alone" },
	{ "-v /a:/b:ro,rw alpine", "error: -v /a:/b:ro,rw: hutch has no mount option "
				   "'rw'; there are ro, rw and cow, one of them" },
	{ "--mount type=bind,src=/a,dst=/b,readonly=maybe alpine",
	  "error: --mount type=bind,src=/a,dst=/b,readonly=maybe: invalid value for "
	  "readonly: maybe" },
	{ "--mount type=bind,src=/a,dst=/b:ro alpine",
	  "error: --mount type=bind,src=/a,dst=/b:ro: hutch shows no path that has a ':' "
	  "in it" },
	{ "--mount type=bind,src=/a:/x,dst=/b alpine",
	  "error: --mount type=bind,src=/a:/x,dst=/b: hutch shows no path that has a ':' "
	  "in it" },
	{ "--mount type=tmpfs,dst=/b:exec alpine",
	  "error: --mount type=tmpfs,dst=/b:exec: hutch shows no path that has a ':' in "
	  "it" },
	{ "--tmpfs /b:noexec alpine",
	  "error: --tmpfs /b:noexec: hutch has no option 'noexec'" },
};

static void test_words_of_run(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO_FREE char *got = run(rows[i].docker, NULL, false);
		assert_string_equal(got, rows[i].hutch);
	}
}

static void test_policy_comes_first_and_opens_the_host(void **state)
{
	AUTO_FREE char *open = run("--add-host x:host-gateway alpine", "/p.json", true);
	AUTO_FREE char *closed =
		run("--network none --add-host x:host-gateway alpine", "/p.json", true);

	(void)state;
	assert_string_equal(open,
			    "run --policy /p.json --add-host x:host-gateway --image "
			    "alpine");
	assert_string_equal(closed, "run --policy /p.json --network none --add-host "
				    "x:127.0.0.1 --image alpine");
}

static void test_privileged_and_other_platforms_are_refused(void **state)
{
	AUTO_FREE char *privileged = run("--privileged alpine", NULL, false);
	AUTO_FREE char *platform = run("--platform linux/s390x alpine", NULL, false);

	(void)state;
	assert_non_null(strstr(privileged, "error: --privileged: it is refused: "));
	assert_non_null(strstr(platform, "error: --platform linux/s390x: this host is "));
}

static void test_volumes_are_named_once(void **state)
{
	char *argv[] = { (char[]){ "-v" },     (char[]){ "b:/b" },
			 (char[]){ "-v" },     (char[]){ "b:/c" },
			 (char[]){ "-v" },     (char[]){ "a:/a" },
			 (char[]){ "alpine" }, NULL };
	struct args a = { 0 };
	struct list words = { 0 };
	struct err e;

	(void)state;
	assert_int_equal(run_args_read(argv, "made", &a, &words, &e), 0);
	AUTO_FREE char *volumes = list_join(&a.volumes, 0, " ");
	assert_string_equal(volumes, "b a");
	list_done(&words);
	args_done(&a);
}

static void test_words_of_exec(void **state)
{
	char *argv[] = { (char[]){ "-w" },    (char[]){ "/" },
			 (char[]){ "-eA=b" }, (char[]){ "-it" },
			 (char[]){ "box" },   (char[]){ "sh" },
			 (char[]){ "-e" },    NULL };
	char *short_of[] = { (char[]){ "box" }, NULL };
	struct args a = { 0 };
	const char *box;
	struct err e;

	(void)state;
	char **command = run_args_read_exec(argv, &a, &box, &e);
	assert_ptr_equal(command, argv + 5);
	AUTO_FREE char *flags = list_join(&a.words, 0, " ");
	assert_string_equal(flags, "-w / -e A=b -i -t");
	assert_string_equal(box, "box");
	assert_null(run_args_read_exec(short_of, &a, &box, &e));
	args_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words_of_run),
		cmocka_unit_test(test_policy_comes_first_and_opens_the_host),
		cmocka_unit_test(test_privileged_and_other_platforms_are_refused),
		cmocka_unit_test(test_volumes_are_named_once),
		cmocka_unit_test(test_words_of_exec),
	};

	/* The data folder of volumes: XDG_DATA_HOME counts if it does not exist. */
	if (setenv("XDG_DATA_HOME", "/data", 1) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
