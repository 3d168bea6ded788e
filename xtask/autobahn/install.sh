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
# Most of what the suite does is to compress, and to decode all of a text anew for each message that it takes a part of. How well
# it compresses changes nothing that its peer must do.
packages=$folder/lib/python2.7/site-packages
sed -i 's/zlib\.Z_DEFAULT_COMPRESSION/zlib.Z_BEST_SPEED/' "$packages/autobahn/websocket/compress_deflate.py"
sed -i "s/ payload = payload\.decode('utf-8')/ payload = self.text = getattr(self, 'text', None) or payload.decode('utf-8')/" \
    "$packages/autobahntestsuite/case/case12_x_x.py"
