# fish completion for hutch(1)

# Verbs, flags and what they do come from hutch's help, and names from its lists. All of them are
# data: none becomes a part of a text that the shell evaluates.

function __hutch
    command $__hutch_program $argv 2>/dev/null
end

# Prints the verbs in the help of these words, with their descriptions.
function __hutch_verbs # [VERB...]
    __hutch $argv --help | string replace -fr '^  ([a-z][a-z-]*) +(.+)$' '$1'\t'$2'
end

# Prints for each flag of a verb a line of FLAG, the name of its value or nothing, and DESCRIPTION.
function __hutch_flags # VERB...
    __hutch $argv --help | string replace -fr '^ +(-[A-Za-z])? ?(--[a-z-]+)(?:\[=\S+\]| (\S+))?  +(.+)$' \
        '$1'\t'$3'\t'$4'\n'$2'\t'$3'\t'$4' | string match -- '-*'
end

# Prints the name of a flag's value and the flag's description, if it takes a value.
function __hutch_flag # FLAG LINE...
    string match -rg -- '^'(string escape --style=regex -- $argv[1])'\t(\S+)\t(.*)' $argv[2..]
end
function __hutch_images
    __hutch image ls | awk 'NR > 1 && $2 != "<none>" { print $1 ":" $2 }'
end
function __hutch_files # TEXT
    complete --do-complete="'' $argv"
end
function __hutch_policies # TEXT
    __hutch policy list | string replace -fr '^([a-z]\S*) +(.+)' '$1'\t'$2'
    __hutch_files $argv
end

# Prints what fits as a flag's value. The help names those that are words, as in "a|b", "a (default), b or c"
# and "whether: a, b".
function __hutch_value -a name about text
    string split '|' -- $name | string match -r '^[a-z]+$'
    for word in (string replace -r '.*: ' '' -- $about | string replace -a ' (default)' '' |
        string replace -ar ',? or ' ', ' | string split ', ')
        string match -r '^[a-z]+$' -- $word; or break
    end
    switch "$name $about"
        case 'SRC:DST[:*' 'DIR[:*'
            set -l before (string replace -r '\[.*' '' -- $name | string replace -ar '[^:]+' '[^:]*')
            if set before (string match -r "^$before:" -- $text)
                string join \n -- $before(string replace -r '.*\[:(.*)\]$' '$1' -- $name | string split '|')
            else if not string match -q '*:*' -- $text
                string match -q 'DIR*' -- $name; and __fish_complete_directories $text; or __hutch_files $text
            end
        case 'REF *dir:PATH'
            echo dir:
            string match -q 'dir:*' -- $text
            and __fish_complete_directories (string sub -s 5 -- $text) | string replace -r ^ dir:
            __hutch_images
        case 'REF*'; __hutch_images
        case 'FILE|NAME *'; __hutch_policies $text
        case 'NAME of this sandbox*'; __hutch ps -q -a
        case '*working directory*' # a path inside
        case '*DIR *'; __fish_complete_directories $text
        case 'FILE*' 'PATH*'; __hutch_files $text
        case 'KEY[*' 'NAME[=*'; set -xn
    end
end

# Prints what fits behind a verb and so many operands.
function __hutch_operand -a verb count text
    switch "$verb $count"
        case 'start *' 'inspect *' 'logs *' 'wait *' 'rm *' 'diff *' 'apply *' 'discard *'; __hutch ps -q -a
        case 'cp *'
            string match -q '*:*' -- $text; and return
            __hutch ps -q | string replace -r '$' :
            __hutch_files $text
        case 'commit 0' 'fork 0'
            __hutch ps -q
            __hutch_images
        case 'serve *' 'route *' 'policy list *' 'image '{ls,gc,quota,verify}' *' 'pool '{create,ls}' *' 'plugin ls *'
        case 'policy *'; __hutch_policies $text
        case 'audit *' 'image *build *' 'plugin check *'; __fish_complete_directories $text
        case 'plugin url 0'; __hutch ps -q
        case 'plugin install *' 'plugin url *'; __hutch plugin ls | string replace -r ' .*' '' | string match -v NAME
        case 'image import *' 'why 1'; __hutch_files $text
        case 'image *'; __hutch_images
        case 'oci '{create,run,list,features,spec,checkpoint,restore}' *'
        case 'oci * 0'; __hutch oci list -q
        case 'pool *'; __hutch pool ls -q
        case 'why 0'
            __hutch ps -q
            __hutch why --help | string replace -fr '.*\[OPTIONS\] ([a-z|]+) .*' '$1' | string split '|'
        case {connect,events,stats,pause,unpause,update,stop,kill,'port *'}' *' {act,shell,exec,rename,snapshot}' 0'
            __hutch ps -q
    end
end

function __hutch_complete
    set -l words (commandline -opc)
    set -l text (commandline -ct)
    set -g __hutch_program $words[1]
    set -e words[1]
    set -l verb
    while set -l verbs (__hutch_verbs $verb); and set -q verbs[1]
        test "$verb" != net; or set verbs (__hutch ps -q)
        test "$verb" = oci; and not set -q words[1]; and string match -q -- '-*' "$text"; and break
        set -q words[1]; or printf '%s\n' $verbs
        set -q words[1]; or return
        test "$verb" != help; or return
        set -a verb $words[1]
        set -e words[1]
    end
    set -l flags (__hutch_flags $verb)
    test "$verb" != 'pool create'; or set -a flags (__hutch_flags create | string match -rv '^(-p|--publish)\t')
    set -l command_at (string replace -r '^run$' 0 -- "$verb" | string replace -r '^(pool )?exec$' 1)
    set -l operands 0
    while set -q words[1]
        set -l flag (__hutch_flag $words[1] $flags)
        if set -q flag[1]
            set -q words[2]; or __hutch_value $flag "$text"
            set -q words[2]; or return
            set -e words[1]
        else if not string match -q -- '-*' $words[1]
            test $operands != $command_at; or break
            set operands (math $operands + 1)
        end
        set -e words[1]
    end
    if not string match -q -- '-*' "$text"; and test $operands = $command_at; or set -q words[1]
        complete --do-complete=(string join ' ' -- (string escape -- $words) $text)
    else if set -l pair (string match -rg -- '^(--[a-z-]+)=(.*)' $text)
        set -l flag (__hutch_flag $pair[1] $flags)
        set -q flag[1]; and string join \n -- $pair[1]=(__hutch_value $flag "$pair[2]")
    else if string match -q -- '-*' "$text"
        string replace -r '\t.*\t' \t -- $flags
    else
        __hutch_operand "$verb" $operands $text
    end
end

complete -c hutch -f -a '(__hutch_complete)'
