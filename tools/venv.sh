#!/usr/bin/env bash
# Makes .venv: a thin environment of this checkout, with aethergraph in it, over
# a thick one (torch, Ray, …) that all checkouts with the same lock file share.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
	{ echo "venv: Python 3.11 or newer is needed, '$python' is $("$python" --version 2>&1); set PYTHON=…" >&2; exit 1; }

key=$({ "$python" -c 'import sys, sysconfig; print(sys.version, sysconfig.get_platform(), sys.base_prefix)'; cat python/requirements.lock; } | sha256sum | cut -c1-16)
deps=${CACHE:?}/venv-$key

make_deps() {
	[ -e "$deps/.complete" ] && return
	echo "venv: installing the locked dependencies into $deps (torch alone is 5 GB: some minutes, once)"
	rm -rf "$deps"
	"$python" -m venv "$deps"
	"$deps/bin/python" -m pip install --quiet --disable-pip-version-check --require-virtualenv -r python/requirements.lock
	touch "$deps/.complete"
}

mkdir -p "$CACHE"
exec 9>"$CACHE/venv-$key.lock"
flock 9
make_deps
flock -u 9

rm -rf .venv
"$python" -m venv --without-pip .venv
site=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
"$deps/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >"$site/_locked_dependencies.pth"
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps ./python
.venv/bin/python -c 'import aethergraph' && .venv/bin/aether-ooc --version
