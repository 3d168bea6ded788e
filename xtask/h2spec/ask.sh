# Says what another program is asked for, which listens: ask.sh FIFO WHAT
echo "$2" >"$1"
