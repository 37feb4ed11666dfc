# bash completion for lwsvm. What there is to complete it asks the program itself.
_lwsvm() {
  local program=$1 word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command="" i
  for ((i = 1; i < COMP_CWORD; ++i)); do
    [[ ${COMP_WORDS[i]} == -* ]] || { command=${COMP_WORDS[i]}; break; }
  done
  if [[ -z $command ]]; then
    local known
    known=$("$program" --help 2>/dev/null | awk '/^Subcommands:/ { on = 1; next } on && NF { print $1 }')
    mapfile -t COMPREPLY < <(compgen -W "$known --help --version" -- "$word")
  elif [[ $word == -* ]]; then
    local options
    options=$("$program" "$command" --help 2>/dev/null | grep -oE '^  (-[a-zA-Z],)?--[a-z-]+' | grep -oE '\-\-[a-z-]+')
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
  elif [[ $previous == --data ]]; then
    mapfile -t COMPREPLY < <(compgen -W "fashion-mnist mnist cifar10 cifar100 synthetic" -- "$word"; compgen -f -- "$word")
  elif [[ $command == data && $previous == data ]]; then
    mapfile -t COMPREPLY < <(compgen -W "list get" -- "$word")
  elif [[ $command == cache && $previous == cache ]]; then
    mapfile -t COMPREPLY < <(compgen -W "list clear" -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}
complete -o filenames -F _lwsvm lwsvm
