#!/usr/bin/env bash
# Runs a file of tests by pytest on the package of a build folder: run.sh FILE BUILD PROGRAM [PYTHON]. Without pytest, or
# without the package (no pybind11 when CMake looked), it is skipped with a word, or fails with LWSVM_REQUIRE_JUDGES=1.
set -euo pipefail
file=$1 build=$2 program=$3 python=${4:-/usr/bin/python3}

without() {
  echo "skipped: $*"
  case ${LWSVM_REQUIRE_JUDGES:-0} in '' | 0) exit 77 ;; *) exit 1 ;; esac
}

[ -x "$python" ] || without "there is no $python"
"$python" -c 'import pytest, numpy' 2>/dev/null || without "pytest or numpy is not installed (scripts/install-deps.sh test)"
ls "$build"/python/lwsvm/_core.*.so >/dev/null 2>&1 ||
  without "the Python package is not built: pybind11 was not found (scripts/install-deps.sh test, then configure again)"

export PYTHONPATH=$build/python${PYTHONPATH:+:$PYTHONPATH} LWSVM_BINARY=$program LWSVM_BUILD=$build
export PYTHONDONTWRITEBYTECODE=1
cd "$(dirname "$file")"
status=0
"$python" -m pytest -q -rs "$file" || status=$?
# 5: nothing was run, as where all of a file needs a judge that is not there; pytest has said so.
[ $status -ne 5 ] || exit 77
exit $status
