# Installs Autobahn's test suite into target/tools/autobahn. It is written in Python 2, which is looked for on the path and
# among pyenv's versions. It takes the network and a C compiler.
set -eu
python=
for it in python2.7 "$HOME"/.pyenv/versions/2.7.*/bin/python; do
    if "$it" -m pip --version > /dev/null 2>&1; then
        python=$it
        break
    fi
done
if [ -z "$python" ]; then
    echo "no Python 2.7 with pip; pyenv install 2.7.18 builds one" >&2
    exit 1
fi
folder=target/tools/autobahn
rm -rf "$folder"
# The last version that makes environments of Python 2.
"$python" -m pip install --quiet --disable-pip-version-check --target "$folder-virtualenv" virtualenv==20.15.1
PYTHONPATH="$folder-virtualenv" "$python" -m virtualenv --quiet "$folder"
"$folder/bin/pip" install --quiet --disable-pip-version-check autobahntestsuite==25.10.1
rm -rf "$folder-virtualenv"
# Most of the time of the suite goes into its compressor, and into decoding a whole text anew for each message that is a part
# of it. Its cases do not depend on how well it compresses.
packages=$folder/lib/python2.7/site-packages
edit() {
    sed -i "$2" "$packages/$1"
    if ! grep -q -F "$3" "$packages/$1"; then
        echo "$1 is not as it was: the edit that adds '$3' found nothing" >&2
        exit 1
    fi
    rm -f "$packages/$1"c
}
edit autobahn/websocket/compress_deflate.py 's/zlib\.Z_DEFAULT_COMPRESSION/zlib.Z_BEST_SPEED/' 'zlib.Z_BEST_SPEED'
text="payload = self.text = getattr(self, 'text', None) or payload.decode('utf-8')"
edit autobahntestsuite/case/case12_x_x.py "s/ payload = payload\.decode('utf-8')/ $text/" "$text"
# What `cargo xtask test` looks for. The number changes with what this script does.
touch "$folder/installed-2"
