#!/bin/sh
# What bash, zsh and fish complete by the scripts of `trainer completion`; a shell that is not installed is left out.
# Usage: completion_test.sh TRAINER
set -u
trainer=$1
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
cd "$folder" && touch net.yaml
failed=0

# expect SHELL WORDS PART: the last of WORDS is completed by something with PART; `!PART` by nothing with it.
expect() {
  shown=$("complete_$1" "$2")
  case $3 in
    !*) printf '%s\n' "$shown" | grep -qF -- "${3#!}" && found=no || found=yes ;;
    *) printf '%s\n' "$shown" | grep -qF -- "$3" && found=yes || found=no ;;
  esac
  [ $found = yes ] && return
  echo "$1: \`$2\` should be completed by $3, but by: $shown"
  failed=1
}

complete_bash() {
  bash --norc -c '. ./trainer.bash; COMP_WORDS=($1); [[ $1 == *" " ]] && COMP_WORDS+=(""); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _trainer; printf "%s\n" "${COMPREPLY[@]}"' bash "$1"
}

# The functions of zsh's completion system, as far as the script calls them, print what they would offer.
complete_zsh() {
  zsh -fc 'compdef() {}; _files() { print -l -- *(N) }
    compadd() { print -l -- "${@[(i)--]}" >/dev/null; print -l -- "${(M)@:#${words[CURRENT]}*}" }
    _describe() { local name=${@[-1]}; print -l -- "${(@M)${(@P)name}:#${words[CURRENT]}*}" }
    . ./_trainer; words=(${=1}); [[ $1 == *" " ]] && words+=(""); CURRENT=${#words}; _trainer' zsh "$1"
}

complete_fish() {
  HOME=$folder fish --no-config -c ". ./trainer.fish; complete -C '$1'"
}

for shell in bash zsh fish; do
  case $shell in bash) file=trainer.bash ;; zsh) file=_trainer ;; fish) file=trainer.fish ;; esac
  "$trainer" completion $shell > "$file" || exit 1
  command -v $shell > /dev/null || continue
  tested="${tested:-} $shell"
  expect $shell 'trainer fo' forecast
  expect $shell 'trainer fo' '!summary'
  expect $shell 'trainer --prog' --progress
  expect $shell 'trainer train --prog' --progress
  expect $shell 'trainer summary --prog' '!--progress'
  expect $shell 'trainer eval --spl' --split
  expect $shell 'trainer eval --split va' valid
  expect $shell 'trainer train -s train.optimizer.sgd.' train.optimizer.sgd.momentum
  expect $shell 'trainer -s model.lo' model.loss=
  expect $shell 'trainer -s model.la' 'model.layers['
  expect $shell 'trainer -s model.la' '!model.layers[='
  expect $shell 'trainer check ne' net.yaml
  expect $shell 'trainer --init ne' net.yaml
  expect $shell 'trainer completion fi' fish
done
echo "tested:$tested"

# Every flag of --help is in the man page and in bash's completion.
"$trainer" completion man > trainer.1
for flag in $("$trainer" train --help | grep -o -- '--[a-z-]*' | sort -u); do
  grep -qF -- "$(printf '%s' "$flag" | sed 's/-/\\-/g')" trainer.1 || [ "$flag" = --help ] || { echo "trainer.1 lacks $flag"; failed=1; }
  grep -qF -- "$flag" trainer.bash || { echo "trainer.bash lacks $flag"; failed=1; }
done
if command -v man > /dev/null; then
  LC_ALL=C.UTF-8 man --warnings -l trainer.1 2>&1 > /dev/null | grep . && failed=1
fi
exit $failed
