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
