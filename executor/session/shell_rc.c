#include "executor/session/shell_rc.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/own.h"

/* __hutch_out reports, and sets __hutch_done only when all of the report is written: a
 * SIGINT in the middle of it leaves that to the next line, which calls __hutch_tidy.  The
 * executor takes a part of a report and a second report for what they are.
 *
 * __hutch_out is the short way, for a command that has left nothing to be put right: bash
 * takes some microseconds for each simple command.  __hutch_tidy is the long way.  The
 * short way writes the path of python before the rest, and so writes once if there is no
 * python: each write wakes the executor.
 *
 * __hutch_lost ends the shell when it has lost its descriptors: they cannot be restored,
 * and without them every later command would hang.  The exit status is the command's, if
 * that is known.  `exit` comes twice, since the first one only warns if there are stopped
 * jobs.  The function checks the descriptors itself, since a SIGINT may leave nothing of
 * the executor's line but this call. */
#define LOST								      \
	"the shell has ended: it lost descriptors that it needs (a ulimit -n below"     \
	" 63 takes them; set it in a subshell instead)"

/* __hutch_in reads a command's text.  The text is evaluated only if `read` has read all
 * of it, since a part of a command can be another command.  Every word that could be a
 * user's alias or function is quoted, or was parsed before ~/.bashrc.  Only conditions
 * and assignments may fail, so that `set -e` and ERR traps do not react.  `export -n` is
 * needed because under `set -a` the text would become part of every environment.
 * Variables that may be readonly are assigned last, since a failing assignment abandons
 * the function.
 *
 * While a command runs, __hutch_err is 61, which takes no writes: the next line sends its
 * errors and its trace (`set -x`) there if bash has abandoned the command.  Otherwise
 * __hutch_err is 2, and that line redirects nothing. */
#define RC_IN(text)							      \
	"__hutch_in() {\n"						      \
	" if IFS= \\builtin read -r -d '' " text " __hutch_command\n"	      \
	" then __hutch_begun=$2 __hutch_err=61; else __hutch_command=; fi\n"   \
	" if [[ $3 == 0 && -n $__hutch_command && $- != *a* &&"		      \
	" ${#__hutch_command} -le 65536 && $__hutch_command != *fc* &&"	      \
	" $__hutch_command != *DEBUG* ]]\n"				      \
	" then \\builtin history -s -- \"$__hutch_command\"\n"		      \
	" else __hutch_note \"$3\"; fi\n"				      \
	" [[ $1 == 0 ]] || \\builtin return \"$1\"\n"			      \
	"}\n"
/* __hutch_note puts an agent's command into `history`, as bash does with a typed line.  A
 * command `fc` is left out, since `fc` would then find itself as the last command.  The
 * commands that need none of its checks do not come here: __hutch_in puts them there.
 *
 * __hutch_traps is called before a command that may set a trap on DEBUG.  Such a trap
 * runs before each simple command, including those of the executor.  Therefore a function
 * `trap` replaces the builtin while that command runs, and adds a condition to the trap
 * that excludes the executor's commands.  The function is traced (declare -ft), since
 * bash would otherwise restore the old trap when it returns. */
#define RC_NOTE								      \
	"__hutch_note() {\n"						      \
	" \\builtin export -n __hutch_command __hutch_begun __hutch_err\n"   \
	" [[ $1 != -* && -n $__hutch_command ]] || \\builtin return 0\n"	      \
	" \\builtin set -- \"${__hutch_command:$1}\"\n"		      \
	" [[ ${#1} -gt 65536 || $1 == fc?([[:blank:]]*) ]] ||"		      \
	" \\builtin history -s -- \"$1\" || \\builtin :\n"		      \
	" [[ $__hutch_command != *DEBUG* ]] || __hutch_traps\n"		      \
	"}\n"								      \
	"__hutch_traps() {\n"						      \
	" ! \\builtin declare -F trap >/dev/null || \\builtin return 0\n"	      \
	" __hutch_trapped=1\n"						      \
	" \\builtin export -n __hutch_trapped\n"			      \
	" trap() {\n"							      \
	"  \\builtin local IFS=' '\n"					      \
	"  if [[ $# -lt 2 || $1 == -[lp]* || \" $* \" != *\" DEBUG \"* ]]\n"     \
	"  then \\builtin trap \"$@\"; \\builtin return; fi\n"		      \
	"  [[ $1 != -- ]] || \\builtin shift\n"			      \
	"  case $1 in\n"						      \
	"  -|'') \\builtin trap -- \"$@\" ;;\n"			      \
	"  *)\n"							      \
	"   \\builtin printf -v __hutch_trap %q \"$1\"\n"		      \
	"   \\builtin export -n __hutch_trap\n"			      \
	"   \\builtin trap -- \"case \\${FUNCNAME-}=\\$BASH_COMMAND in"	      \
	" *__hutch_*|trap=*) ;; *) \\\\builtin eval $__hutch_trap ;; esac\""   \
	" \"${@:2}\" ;;\n"						      \
	"  esac\n"							      \
	" }\n"								      \
	" \\builtin declare -ft trap\n"				      \
	"}\n"
#define RC_HEAD								      \
	"__hutch_trace() { \\builtin set -x; \\builtin return \"$1\"; }\n"     \
	"__hutch_lost() {\n"						      \
	" [[ -t 0 ]] || ! { :; } >&62 || \\builtin return 0\n"		      \
	" \\builtin printf 'hutch: %s\\n' \"" LOST "\"\n"			      \
	" \\builtin exit \"$1\" || \\builtin exit \"$1\"\n"			      \
	"}\n"								      \
	"__hutch_out() {\n"						      \
	" if [[ $3 != *[avx]* && ${__hutch_begun-} == \"$2\" && ! -t 0 &&"      \
	" ! -o history && -n ${PWD-} && ${#PWD} -lt 4096 &&"		      \
	" -z ${__hutch_trapped-}"					      \
	"${PROMPT_COMMAND[*]-}${PS1-}${PS2-}${PS0-} ]]\n"			      \
	" then\n"							      \
	"  {\n"								      \
	"   \\builtin type -P python\n"					      \
	"   \\builtin printf '\\0\\0n%s\\0s%s\\0f%s\\0b%s\\0d%s\\0P\\0'"	      \
	" \"$2\" \"$1\" \"$3\" \"${!-}\" \"$PWD\"\n"				      \
	"  } >&62 || __hutch_lost \"$1\"\n"				      \
	"  __hutch_done=$2 __hutch_err=2 __hutch_command=\n"		      \
	" else __hutch_tidy \"$@\"; fi\n"				      \
	"}\n"								      \
	"__hutch_tidy() {\n"						      \
	" [[ ! -t 0 ]] || __hutch_lost \"$1\"\n"			      \
	" [[ ${__hutch_begun-} == \"$2\" ]] ||"				      \
	" \\builtin set -- 130 \"$2\" \"!$3\"\n"			      \
	" __hutch_cwd=${PWD-}\n"					      \
	" \\builtin set +xv +o history\n"				      \
	" [[ -z ${__hutch_trapped-} ]] || \\builtin unset -f trap\n"	      \
	" __hutch_trapped=\n"						      \
	" {\n"								      \
	"  \\builtin printf '\\0\\0n%s\\0s%s\\0f%s\\0b%s\\0d%s\\0p'"	      \
	" \"$2\" \"$1\" \"$3\" \"${!-}\" \"${__hutch_cwd:0:4095}\"\n" \
	"  \\builtin type -P python\n"					      \
	"  \\builtin printf '\\0'\n"					      \
	" } >&62 || __hutch_lost \"$1\"\n"				      \
	" __hutch_done=$2 __hutch_err=2\n"				      \
	" __hutch_command=\n"						      \
	" \\builtin export -n __hutch_done __hutch_begun __hutch_err\n"	      \
	" \\builtin export -n __hutch_command __hutch_cwd\n"		      \
	" \\builtin unset PROMPT_COMMAND\n"				      \
	" PS1= PS2= PS0=\n"						      \
	"}\n"
#define RC_ENV								      \
	"__hutch_set() {\n"						      \
	" \\builtin unset -n \"$1\" && \\builtin unset -v \"$1\" &&\n"	      \
	" \\builtin export \"$1=$2\"\n"					      \
	"} 2>/dev/null\n"						      \
	"__hutch_unset() {\n"						      \
	" \\builtin unset -n \"$1\" && \\builtin unset -v \"$1\"\n"	      \
	"} 2>/dev/null\n"						      \
	"__hutch_kept() {\n"						      \
	" \\builtin printf 'hutch: %s is readonly in this shell and stays as it is\\n'" \
	" \"$1\" || \\builtin return 0\n"				      \
	"}\n"
/* git must print its whole output without a pager, which would wait for a key.  The alias
 * is defined before ~/.bashrc, so that the user can override it. */
#define RC_GIT "\\builtin alias git='git --no-pager'\n"
#define RC_USER "if [[ -r ~/.bashrc ]]; then __hutch_traps; . ~/.bashrc </dev/null; fi\n"
/* This is a function so that a trap on DEBUG from ~/.bashrc sees only one command, the
 * call. */
#define RC_TAIL								      \
	"__hutch_tail() {\n"						      \
	" \\builtin unset HISTFILE MAILCHECK TMOUT\n"			      \
	" \\builtin set +o history +H +x +v\n"				      \
	" \\builtin shopt -u checkwinsize\n"				      \
	" \\command exec 63<&-\n"					      \
	"}\n"
#define RC_READY							      \
	"__hutch_tail\n"						      \
	"__hutch_begun=0\n"						      \
	"{ __hutch_out 0 0 $-; } 2>/dev/null || __hutch_lost 1\n"

/* The start-up file for an interactive bash that a command has started (shell_inner.h).
 * The line that is typed at its prompt passes four arguments: the pid of the holder, the
 * number for the report, how many rows that line takes, and in which column the prompt
 * ends.  A memfd that is opened by its path in /proc has a new file offset, so the text
 * is opened again for each command.
 *
 * The script erases the prompt and the typed line, row by row: if it erased the whole
 * screen at once, screen_control.c would keep the content as output.  Text between `\001`
 * and `\002` in a prompt has no width. */
#define RC_INNER							      \
	"__hutch_status=$?\n"						      \
	"[[ -r /proc/$1/fd/60 && -w /proc/$1/fd/62 ]] || \\builtin return\n" \
	"__hutch_erase() {\n"						      \
	" \\builtin local p= n\n"					      \
	" ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] < 404)) ||"	      \
	" \\builtin eval 'p=${PS1@P}'\n"				      \
	" while [[ $p == *$'\001'*$'\002'* ]]\n"			      \
	" do p=${p%%$'\001'*}${p#*$'\002'}; done\n"			      \
	" n=${p//[!$'\n']/}\n"						      \
	" p=$((${#n} || $2 < ${#p} ? 0 : $2 - ${#p}))\n"		      \
	" n=$(($1 + ${#n}))\n"						      \
	" while ((n-- > 1)); do \\builtin printf '\\e[A\\r\\e[K'; done\n"	      \
	" \\builtin printf '\\e[A\\e[%dG\\e[K' $((p + 1))\n"		      \
	"}\n"								      \
	"{ __hutch_erase \"$3\" \"$4\" >&0; } 2>/dev/null\n"		      \
	"\\builtin unset -f __hutch_erase\n"				      \
	"[[ $(HISTTIMEFORMAT= \\builtin history 1) != *\"/proc/$1/fd/63 \"* ]] ||" \
	" \\builtin history -d -1 2>/dev/null\n"			      \
	"\\command exec 60<&0 61</proc/$1/fd/61 62>/proc/$1/fd/62"	      \
	" 0</proc/$1/fd/60\n"
#define RC_INNER_READY							      \
	"__hutch_tail\n"						      \
	"__hutch_begun=$2\n"						      \
	"{ __hutch_out $__hutch_status \"$2\" $-; } 2>/dev/null || __hutch_lost 1\n"

/* Returns a sealed memfd with the text, which the caller owns. */
static int make_memfd(const char *text)
{
	const int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
	const size_t len = strlen(text);
	AUTO_CLOSE int fd = memfd_create("hutch-shell", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || pwrite(fd, text, len, 0) != (ssize_t)len ||
	    fcntl(fd, F_ADD_SEALS, seals) < 0)
		return -1;
	return fd_take(&fd);
}

#define FIRST RC_IN("-u 61") RC_NOTE RC_HEAD RC_ENV RC_TAIL RC_GIT

int shell_rc_make(enum shell_rc kind)
{
	static const char *const texts[] = {
		[SHELL_RC_FIRST] = FIRST RC_USER RC_READY,
		[SHELL_RC_BARE] = FIRST RC_READY,
		[SHELL_RC_INNER] = RC_INNER RC_IN("</proc/self/fd/61")
			RC_NOTE RC_HEAD RC_ENV RC_TAIL RC_INNER_READY,
	};

	return make_memfd(texts[kind]);
}
