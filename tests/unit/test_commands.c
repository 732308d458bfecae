#include "policy/commands.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/list.h"
#include "base/own.h"
#include "tests/unit/rounds.h"

/* Returns the words with "|" between them and the commands with "; " between them; "
 * ?" at the end says that the text may hide further commands. */
static char *shown(const char *text)
{
	struct commands c;
	char *all = text_copy("");

	commands_read(&c, text, strlen(text));
	for (size_t i = 0; i < c.count; i++)
		for (size_t k = 0; k < c.items[i].words.count; k++) {
			const char *between = k ? "|" : i ? "; " : "";
			char *more = text_format("%s%s%s", all, between,
						 c.items[i].words.items[k]);
			free(all);
			all = more;
		}
	if (c.why) {
		char *more = text_format("%s ?", all);
		free(all);
		all = more;
	}
	commands_done(&c);
	return all;
}

struct sample {
	const char *text, *commands;
};

static void check(const struct sample *samples, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		AUTO_FREE char *got = shown(samples[i].text);
		if (strcmp(got, samples[i].commands))
			fail_msg("%s\nis:     %s\nnot:    %s", samples[i].text, got,
				 samples[i].commands);
	}
}

static void test_words_are_as_bash_has_them_without_quotes(void **state)
{
	static const struct sample samples[] = {
		{ "", "" },
		{ "rm -rf /", "rm|-rf|/" },
		{ " rm\t-rf  /  # all", "rm|-rf|/" },
		{ "r\"m\" -'r'f \\/", "rm|-rf|/" },
		{ "\\rm a\\ b", "rm|a b" },
		{ "r\\\nm x \\\n y", "rm|x|y" },
		{ "'a b' \"c 'd'\" e'\"'", "a b|c 'd'|e\"" },
		{ "echo \"a\\\"b\\$c\\d\"", "echo|a\"b$c\\d" },
		{ "$'\\x72\\155' $'\\'' $'\\u00e4\\e' $'\\q'", "rm|'|\xc3\xa4\033|\\q" },
		{ "$'rm\\0x' $'\\x{72}m' $'\\xg'", "rm|rm|\\xg" },
		{ "$\"rm\" x", "rm|x" },
		{ "echo $X ${Y:-z} $1 *.c {a,b} ~", "echo|$X|${Y:-z}|$1|*.c|{a,b}|~" },
		{ "echo '' \"\"", "echo||" },
		{ "a#b c", "a#b|c" },
		{ "'unfinished", " ?" },
		{ "\"unfinished", " ?" },
		{ "echo \\", "echo ?" },
	};

	(void)state;
	check(samples, ARRAY_LEN(samples));
}

static void test_redirections_and_variables_are_no_part_of_a_command(void **state)
{
	static const struct sample samples[] = {
		{ "X=1 Y+=2 Z[3]=4 cmd a=b", "cmd|a=b" },
		{ "X=1", "" },
		{ "cmd >out 2>&1 <in a 3<>x &>all >|y b", "cmd|a|b" },
		{ "2>x cmd 2 >y", "cmd|2" },
		{ "! cmd", "cmd" },
		{ "time -p make", "make" },
		{ "time ! a; time { b; }; /usr/bin/time -o f c",
		  "a; b; /usr/bin/time|-o|f|c; c" },
		{ "for x do a; done; for x\ndo b; done", "a; b" },
		{ "coproc X { a; }; coproc Y (b); coproc c d", "a; b; c|d ?" },
		{ "\\case in; a", "case|in; a" },
		{ "'case' x in; a", "case|x|in; a" },
		{ ">f case x in; a", " ?" },
		{ "X=1 case in; a", " ?" },
		{ "case x in b) c ;\\\n; d) a;; esac", "c; a" },
		{ "case x in b) 'esac';; c) a;; esac", "esac; a" },
		{ "a[0 + 1]=2 b; a[c[1]]+=3 d; a[$(e)]=4; a[f", "b; d; e ?" },
		{ "a[1<<2]=3\nb", "b" },
		{ "a[1]=x] b", "b" },
		{ "a[']']=x b; a[\"]\"]=x c; a[\\]]=x d", " ?" },
		{ "a[$[b[1]]]=x c", "c" },
		{ "{x}>/dev/null a", "a" },
		{ "[[ x == +(#y) ]] || a", "a" },
		{ "if a; then b; elif c; then d; else e; fi", "a; b; c; d; e" },
		{ "while a; do b; done <f", "a; b" },
		{ "for x in rm y; do b $x; done", "b|$x" },
		{ "for ((i = 0; i < 3; i++)); do b; done", "b" },
		{ "case $x in rm|y) a ;; (z) b ;& *) c ;; esac; d", "a; b; c; d" },
		{ "case x in\nrm)\na\n;;\nesac", "a" },
		{ "echo $(case x in a) rm;; esac) y",
		  "rm; echo|$(case x in a) rm;; esac)|y" },
		{ "f() { a; }; function g { b; }; f", "a; b; f" },
		{ "a=(rm x)", "" },
		{ "{ a; b; }", "a; b" },
		{ "coproc a", "a ?" },
	};

	(void)state;
	check(samples, ARRAY_LEN(samples));
}

static void test_commands_are_found_wherever_they_stand(void **state)
{
	static const struct sample samples[] = {
		{ "a; b && c || d | e |& f & g\nh", "a; b; c; d; e; f; g; h" },
		{ "(a; (b))", "a; b" },
		{ "x $(a `b \\`c\\``) y",
		  "c; b|`c`; a|`b \\`c\\``; x|$(a `b \\`c\\``)|y" },
		{ "x \"$(a \"$(b)\")\"", "b; a|$(b); x|$(a \"$(b)\")" },
		{ "x ${y:-$(a)}", "a; x|${y:-$(a)}" },
		{ "x <(a) >(b)", "a; b; x|<(a)|>(b)" },
		{ "X=$(a)", "a" },
		{ "x >$(a)", "a; x" },
		{ "echo $((1 + $(a)))", "a; echo|$((1 + $(a)))" },
		{ "echo $((1<<2))\nrm x", "echo|$((1<<2)); rm|x" },
		{ "((x<<2))\nrm x", "rm|x" },
		{ "'$(a)' \\$(b)", "$(a)|$ ?" },
		{ "y=${x//'\"'/}; a", "a" },
		{ "echo \"${x#'\"'}\"; a", "echo ?" },
		{ "echo ${x:-{}; a; echo }", "echo|${x:-{}; a; echo|}" },
		{ "echo ${x:-'}'}; a; echo ''", "echo|${x:-'}'}; a; echo|" },
		{ "cat ${x:-<(a)}", "cat ?" },
		{ "echo $$'\\'; a #'", "echo|$$\\; a" },
		{ "echo $[1<<2]\na", "echo|$[1<<2]; a" },
		{ "echo \"$\\\n(a)\"", "a; echo|$\\\n(a)" },
		{ "true \r#; a", "true|\r#; a" },
		{ "\"`\\\"a\\\" b`\"", "a|b; `\\\"a\\\" b` ?" },
		{ "((:) ; a)", " ?" },
	};

	(void)state;
	check(samples, ARRAY_LEN(samples));
}

static void test_input_that_stands_in_the_text_is_no_command_but_for_a_shell(void **state)
{
	static const struct sample samples[] = {
		{ "cat <<E\nrm x\nE\na", "cat; a" },
		{ "cat <<-'E' <<F; b\nrm x\n\tE\nrm y\nF\na", "cat; b; a" },
		{ "cat <<E\n$(rm x) `b`\nE", "rm|x; b; cat" },
		{ "bash <<E\nrm x\nE\na", "bash; rm|x; a" },
		{ "cat <<E | sh\nrm x\nE", "cat; sh ?" },
		{ "sh <<<'rm x'", "sh; rm|x" },
		{ "cat <<<'rm x'", "cat" },
		{ "cat <<E\nrm x", "cat ?" },
		{ "x $(cat <<E) ; rm x\nE", "x ?" },
		{ "x <<E $(a)\n(\nE\nb", "a; x|$(a); b" },
		{ "cat <<'E'\n`a` $(b)\nE\nc", "cat; c" },
		{ "cat <<E\n\\`a\\` \\$(b)\nE\nc", "cat; c" },
		{ "cat <<EOF\nE\\\nOF\na", "cat; a" },
		{ "cat <<'EOF'\nE\\\nEOF\na", "cat; a" },
		{ "(cat <<A)\n'\nA\na #'", "cat; a" },
		{ "env bash <<E\nrm x\nE", "env|bash; bash; rm|x" },
		{ "exec bash <<<'rm x'", "exec|bash; bash; rm|x" },
	};

	(void)state;
	check(samples, ARRAY_LEN(samples));
}

static void test_the_command_that_a_command_runs_is_one_too(void **state)
{
	static const struct sample samples[] = {
		{ "bash -c 'rm x; y'", "bash|-c|rm x; y; rm|x; y" },
		{ "/bin/sh -ec \"rm x\" name", "/bin/sh|-ec|rm x|name; rm|x" },
		{ "eval 'rm' 'x;' y", "eval|rm|x;|y; rm|x; y" },
		{ "sudo -u root -E X=1 rm x", "sudo|-u|root|-E|X=1|rm|x; rm|x" },
		{ "env X=1 -u Y rm x", "env|X=1|-u|Y|rm|x; -u|Y|rm|x" },
		{ "env -S 'rm x'", "env|-S|rm x; rm|x" },
		{ "timeout -s KILL 5 nice -n 5 rm x",
		  "timeout|-s|KILL|5|nice|-n|5|rm|x; nice|-n|5|rm|x; rm|x" },
		{ "sudo --user root -g root rm", "sudo|--user|root|-g|root|rm; rm" },
		{ "sudo -uroot rm x", "sudo|-uroot|rm|x; rm|x" },
		{ "sudo -nu root rm x", "sudo|-nu|root|rm|x; rm|x" },
		{ "env -uS a", "env|-uS|a; a" },
		{ "env --chdir . --unset X rm", "env|--chdir|.|--unset|X|rm; rm" },
		{ "timeout --sig=KILL --kill 3 5 rm",
		  "timeout|--sig=KILL|--kill|3|5|rm; rm" },
		{ "env -vS rm x", "env|-vS|rm|x; rm|x" },
		{ "env --split='rm x' y", "env|--split=rm x|y; rm|x|y" },
		{ "bash -c -- 'rm x'", "bash|-c|--|rm x; rm|x" },
		{ "bash -c -e 'rm x'", "bash|-c|-e|rm x; rm|x" },
		{ "bash -euo pipefail -c 'rm x'", "bash|-euo|pipefail|-c|rm x; rm|x" },
		{ "bash --rcfile f -c 'rm x'", "bash|--rcfile|f|-c|rm x; rm|x" },
		{ "bash x -c y", "bash|x|-c|y" },
		{ "bash '' -c y", "bash||-c|y" },
		{ "su root --command='rm x'", "su|root|--command=rm x; rm|x" },
		{ "su -c'rm x'", "su|-crm x; rm|x" },
		{ "script -q --comm 'rm x'", "script|-q|--comm|rm x; rm|x" },
		{ "eval -- rm x", "eval|--|rm|x; rm|x" },
		{ "trap -- 'rm x' EXIT", "trap|--|rm x|EXIT; rm|x" },
		{ "watch -n 9 'rm x; y'", "watch|-n|9|rm x; y; rm|x; y" },
		{ "find . -exec env -u + rm {} ';'",
		  "find|.|-exec|env|-u|+|rm|{}|;; env|-u|+|rm|{}; rm|{}" },
		{ "find . -name x -exec rm {} \\; -ok a +",
		  "find|.|-name|x|-exec|rm|{}|;|-ok|a|+; rm|{}; a|+" },
		{ "x | xargs -I {} rm {}", "x; xargs|-I|{}|rm|{}; rm|{}" },
		{ "trap 'rm x' EXIT", "trap|rm x|EXIT; rm|x" },
		{ "su root -c 'rm x'", "su|root|-c|rm x; rm|x" },
		{ "command -v rm", "command|-v|rm" },
		{ "exec rm", "exec|rm; rm" },
		{ "busybox sh -c 'rm x'", "busybox|sh|-c|rm x; sh|-c|rm x; rm|x" },
		{ "sudo", "sudo" },
		{ "sudo -u", "sudo|-u" },
	};

	(void)state;
	check(samples, ARRAY_LEN(samples));
}

static char *repeated(const char *text, size_t count)
{
	size_t len = strlen(text);
	char *all = calloc(len * count + 1, 1);

	assert_non_null(all);
	for (size_t i = 0; i < count; i++)
		memcpy(all + i * len, text, len);
	return all;
}

/* The reader gives up soon, and says so, on deep nesting, on many commands, and on
 * text that doubles at each level. */
static void test_too_many_commands_are_not_all_found(void **state)
{
	static const char *const parts[] = {
		"$(",	"${",		"(",	"a;",	"sudo ",      "eval ",
		"x <(", "bash -c \"$(", "<<E ", "a ((", "case x in ",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		AUTO_FREE char *text =
			repeated(parts[i], ROUNDS_OF(1u << 20) / strlen(parts[i]));
		struct commands c;
		commands_read(&c, text, strlen(text));
		assert_true(c.count <= COMMANDS_MAX);
		if (!c.why)
			fail_msg("'%s'", parts[i]);
		commands_done(&c);
	}
}

/* In some of these texts bash runs a command that is not among the words, or may do
 * so; " ?" marks them. */
static void test_a_text_that_hides_a_command_says_so(void **state)
{
	static const struct sample samples[] = {
		{ "$X a; \"$Y\"; r? x; {rm,x}; `a`; ~",
		  "$X|a; $Y; r?|x; {rm,x}; a; `a`; ~ ?" },
		{ "$X/rm", "$X/rm ?" },
		{ "\"$X\"/rm; ~/rm", "$X/rm; ~/rm" },
		{ "eval \"$X\"", "eval|$X; $X ?" },
		{ "bash -c \"a $X\"", "bash|-c|a $X; a|$X ?" },
		{ "bash $X", "bash|$X ?" },
		{ "bash \"$X/a.sh\"; bash a.sh", "bash|$X/a.sh; bash|a.sh" },
		{ "bash \"$X/a.sh\"; bash a.sh; bash -x \"a$X.sh\"",
		  "bash|$X/a.sh; bash|a.sh; bash|-x|a$X.sh ?" },
		{ "bash \"$X\"; trap \"$X\" EXIT", "bash|$X; trap|$X|EXIT; $X ?" },
		{ "a | bash", "a; bash ?" },
		{ "a | bash -c b; a | bash c", "a; bash|-c|b; b; a; bash|c" },
		{ "bash <&3", "bash ?" },
		{ "bash <f; bash </dev/null; bash", "bash; bash; bash" },
		{ "{ bash; } <<E\nrm x\nE", "bash; rm|x" },
		{ "bash 0<<E\nrm x\nE", "bash; rm|x" },
		{ "bash <<E\n$X\nE", "bash; $X ?" },
		{ "bash /dev/fd/3 3<<E\nrm x\nE", "bash|/dev/fd/3 ?" },
		{ "bash /dev/stdin <<E\nrm x\nE", "bash|/dev/stdin; rm|x" },
		{ "source <(a); . /dev/fd/3; source f",
		  "a; source|<(a); .|/dev/fd/3; source|f ?" },
		{ "f() { bash; }", "bash ?" },
		{ "exec <<<'rm x'", "exec ?" },
		{ "exec >f; exec 3<<<x", "exec; exec" },
		{ "alias a='rm '; a x", "alias|a=rm ; a|x ?" },
		{ "alias; alias a", "alias; alias|a" },
		{ "hash -p /bin/rm a; hash -r", "hash|-p|/bin/rm|a; hash|-r ?" },
		{ "compgen -C rm", "compgen|-C|rm ?" },
		{ "complete -C rm a", "complete|-C|rm|a ?" },
		{ "mapfile -C rm -c 1 a; mapfile a",
		  "mapfile|-C|rm|-c|1|a; mapfile|a ?" },
		{ "jobs -x rm; jobs -l", "jobs|-x|rm; jobs|-l ?" },
		{ "bind -x '\"a\":rm'", "bind|-x|\"a\":rm ?" },
		{ "enable -f f rm", "enable|-f|f|rm ?" },
		{ "fc -s rm", "fc|-s|rm ?" },
		{ "PROMPT_COMMAND=rm", " ?" },
		{ "export PS1='$(rm)'", "export|PS1=$(rm) ?" },
		{ "declare -gx BASH_ENV=f", "declare|-gx|BASH_ENV=f ?" },
		{ "for PS4 in '`rm`'; do a; done", "a ?" },
		{ "let 'a[$(rm x)]'", "let|a[$(rm x)] ?" },
		{ "test -v 'a[$(rm x)]'", "test|-v|a[$(rm x)] ?" },
		{ "[[ -v 'a[$(rm x)]' ]]", " ?" },
		{ "printf -v 'a[$(rm x)]' b", "printf|-v|a[$(rm x)]|b ?" },
		{ "printf 'a[$(rm x)]'", "printf|a[$(rm x)]" },
		{ "declare -i a='b[$(rm x)]'", "declare|-i|a=b[$(rm x)] ?" },
		{ "a='b[$(rm x)]'; echo $((a))", "echo|$((a)) ?" },
		{ "a='b[$(rm x)]'; echo ${!a}", "echo|${!a} ?" },
		{ "read a <<<'b[$(rm x)]'; ((a))", "read|a ?" },
		{ "awk '{print $(NF)}' f; i=$((3 * 4))", "awk|{print $(NF)}|f" },
		{ "bash -c 'a=$(b); i=$((i + 1))'", "bash|-c|a=$(b); i=$((i + 1)); b" },
		{ "a[\"$(rm x)\"]=1; b['$(rm y)']=2", "rm|x; rm|y" },
		{ "echo $((b['$(rm x)']))", "rm|x; echo|$((b['$(rm x)']))" },
		{ "echo ${a['$(rm x)']}", "rm|x; echo|${a['$(rm x)']}" },
		{ "echo \"${x:-'$(rm x)'}\"", "rm|x; echo|${x:-'$(rm x)'}" },
		{ "$'\\c' rm x", "\\c|rm|x" },
		{ "x=\\\n1 rm x", "rm|x" },
		{ "coproc X { rm x; }", "rm|x" },
		{ "coproc rm x", "rm|x ?" },
		{ "for a in b; { rm x; }; for ((;;)) { rm y; }", "rm|x; rm|y" },
		{ "${ rm x; }", " ?" },
		{ "echo \"${x@P}\"", "echo ?" },
	};

	(void)state;
	check(samples, ARRAY_LEN(samples));
}

static void test_options_are_those_that_the_programs_know(void **state)
{
	static const struct sample samples[] = {
		{ "chrt --other 0 rm x; chrt -o rm y",
		  "chrt|--other|0|rm|x; rm|x; chrt|-o|rm|y; rm|y" },
		{ "chrt --oth 0 rm x", "chrt|--oth|0|rm|x; rm|x" },
		{ "xargs --r rm x; xargs --rep rm y",
		  "xargs|--r|rm|x; rm|x; xargs|--rep|rm|y; rm|y" },
		{ "xargs --max-a 2 rm x; xargs -i rm {} x",
		  "xargs|--max-a|2|rm|x; rm|x; xargs|-i|rm|{}|x; rm|{}|x" },
		{ "a | xargs sh -c", "a; xargs|sh|-c; sh|-c ?" },
		{ "xargs -I{} sh -c 'rm {}'",
		  "xargs|-I{}|sh|-c|rm {}; sh|-c|rm {}; rm|{} ?" },
		{ "xargs -I{} {} x", "xargs|-I{}|{}|x; {}|x ?" },
		{ "find -exec {} ';'", "find|-exec|{}|;; {} ?" },
		{ "timeout --frobnicate 5 rm x", "timeout|--frobnicate|5|rm|x; rm|x ?" },
		{ "sudo -Z rm x", "sudo|-Z|rm|x; rm|x ?" },
		{ "i386 -R rm x; setarch x86_64 rm y",
		  "i386|-R|rm|x; rm|x; setarch|x86_64|rm|y; rm|y" },
		{ "setarch -R rm x", "setarch|-R|rm|x; rm|x" },
		{ "rbash -c 'rm x'; bash --posix -c 'rm y'",
		  "rbash|-c|rm x; rm|x; bash|--posix|-c|rm y; rm|y" },
		{ "bash --frobnicate -c 'rm x'", "bash|--frobnicate|-c|rm x ?" },
		{ "flock f -c 'rm x'; flock -w 5 f rm y",
		  "flock|f|-c|rm x; rm|x; flock|-w|5|f|rm|y; rm|y" },
		{ "runuser -u x -- rm y", "runuser|-u|x|--|rm|y; rm|y" },
		{ "su - <<E\nrm x\nE\na | sudo -i", "su|-; rm|x; a; sudo|-i ?" },
		{ "env $X rm", "env|$X|rm; $X|rm ?" },
		{ "env - A=b rm x; env -i - rm",
		  "env|-|A=b|rm|x; rm|x; env|-i|-|rm; rm" },
		{ "sudo \"$X\" rm", "sudo|$X|rm; $X|rm ?" },
		{ "timeout \"$X\" rm", "timeout|$X|rm; rm" },
		{ "git -C . -c a=b push x; git -P push",
		  "git|-C|.|-c|a=b|push|x; git|push|x; git|-P|push; git|push" },
		{ "git --git-dir=a --work-tree b push",
		  "git|--git-dir=a|--work-tree|b|push; git|push" },
	};

	(void)state;
	check(samples, ARRAY_LEN(samples));
}

/* In the first rows dash, which may be the host's sh, runs `rm`, but bash does not.
 * So " ?" marks all forms that only bash knows. */
static void test_text_for_sh_has_no_form_that_only_bash_knows(void **state)
{
	static const struct sample samples[] = {
		{ "sh -c \"echo \\$'\\\\'; rm x; #'\"",
		  "sh|-c|echo $'\\'; rm x; #'; echo|'; rm x; # ?" },
		{ "sh -c '((rm -rf x))'", "sh|-c|((rm -rf x)) ?" },
		{ "dash -c 'ls &>x rm y'", "dash|-c|ls &>x rm y; ls|rm|y ?" },
		{ "ash <<'E'\necho $[1;rm x]\nE", "ash; echo|$[1;rm x] ?" },
		{ "sh -c '[[ a || rm == x ]]'", "sh|-c|[[ a || rm == x ]] ?" },
		{ "sh -c 'false && \"${x/\"a\"/b}\"'",
		  "sh|-c|false && \"${x/\"a\"/b}\"; false; ${x/\"a\"/b} ?" },
		{ "sh -c 'sh -s 10<<E\nrm x\nE'", "sh|-c|sh -s 10<<E\nrm x\nE; sh|-s ?" },
		{ "sh -c 'exec -a n rm x'",
		  "sh|-c|exec -a n rm x; exec|-a|n|rm|x; rm|x ?" },
		{ "su -c '[[ a ]]'", "su|-c|[[ a ]] ?" },
		{ "watch '[[ a ]]'", "watch|[[ a ]] ?" },
		{ "script -c '[[ a ]]'", "script|-c|[[ a ]] ?" },
		{ "sudo -s <<<'[[ a ]]'", "sudo|-s ?" },
		{ "flock f -c 'a=(b)'", "flock|f|-c|a=(b) ?" },
		{ "sh -c 'eval \"[[ a ]]\"'", "sh|-c|eval \"[[ a ]]\"; eval|[[ a ]] ?" },
		{ "sh -c 'bash -c \"[[ a ]]\"'",
		  "sh|-c|bash -c \"[[ a ]]\"; bash|-c|[[ a ]]" },
		{ "bash -c '[[ a ]]'", "bash|-c|[[ a ]]" },
		{ "sh -c 'a=1 rm ${x:-y} 2>&1 <<E | b\nE'",
		  "sh|-c|a=1 rm ${x:-y} 2>&1 <<E | b\nE; rm|${x:-y}; b" },
		{ "zsh -c 'noglob rm x'", "zsh|-c|noglob rm x ?" },
		{ "csh -c 'rm x'", "csh|-c|rm x ?" },
		{ "fish -c 'rm x'", "fish|-c|rm x ?" },
		{ "ksh -c 'rm x'", "ksh|-c|rm x ?" },
		{ "mksh -c 'rm x'", "mksh|-c|rm x ?" },
		{ "tcsh -c 'rm x'", "tcsh|-c|rm x ?" },
		{ "yash -c 'rm x'", "yash|-c|rm x ?" },
		{ "fish <<<'rm x'", "fish ?" },
		{ "a | ksh", "a; ksh ?" },
		{ "csh x", "csh|x" },
		{ "zsh x.zsh", "zsh|x.zsh" },
	};

	(void)state;
	check(samples, ARRAY_LEN(samples));
}

static void test_words_that_xargs_adds_may_be_a_command(void **state)
{
	static const struct sample samples[] = {
		{ "a | xargs env", "a; xargs|env; env ?" },
		{ "a | xargs timeout 5", "a; xargs|timeout|5; timeout|5 ?" },
		{ "a | xargs sh", "a; xargs|sh; sh ?" },
		{ "a | xargs su", "a; xargs|su; su ?" },
		{ "a | xargs find b", "a; xargs|find|b; find|b ?" },
		{ "a | xargs watch b", "a; xargs|watch|b; watch|b; b ?" },
		{ "a | xargs env -S b", "a; xargs|env|-S|b; env|-S|b; b ?" },
		{ "a | xargs env b", "a; xargs|env|b; env|b; b" },
		{ "a | xargs sh b", "a; xargs|sh|b; sh|b" },
	};

	(void)state;
	check(samples, ARRAY_LEN(samples));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words_are_as_bash_has_them_without_quotes),
		cmocka_unit_test(
			test_redirections_and_variables_are_no_part_of_a_command),
		cmocka_unit_test(test_commands_are_found_wherever_they_stand),
		cmocka_unit_test(
			test_input_that_stands_in_the_text_is_no_command_but_for_a_shell),
		cmocka_unit_test(test_the_command_that_a_command_runs_is_one_too),
		cmocka_unit_test(test_a_text_that_hides_a_command_says_so),
		cmocka_unit_test(test_options_are_those_that_the_programs_know),
		cmocka_unit_test(test_text_for_sh_has_no_form_that_only_bash_knows),
		cmocka_unit_test(test_words_that_xargs_adds_may_be_a_command),
		cmocka_unit_test(test_too_many_commands_are_not_all_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
