# Reports the URL that h2specd asks for to the program that listens: ask.sh FIFO URL
echo "$2" >"$1"
