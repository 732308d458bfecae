# offers.zsh FOLDER FILE -- makes an interactive zsh write down what its completion offers: the
# completions of FOLDER are loaded, and ctrl-T begins a new line and writes a line into FILE,
# what stood in the line edited, a tab, and the words that were offered for it, without their quotes.

fpath=($1 $fpath) offers_file=$2
autoload -Uz compinit
compinit -u -D
LISTMAX=9999 # no question
PROMPT=ready%%

offers=()
compadd() {
	local -a fitting
	if [[ ${@[1,(i)(-|--)]} != *-[OAD]\ * ]]; then
		builtin compadd -A fitting "$@"
		offers+=(${(Q)fitting})
	fi
	builtin compadd "$@"
}

write-offers() {
	print -r -- "$BUFFER"$'\t'"$offers" >>$offers_file
	offers=() BUFFER=
}
zle -N write-offers
bindkey '^T' write-offers
