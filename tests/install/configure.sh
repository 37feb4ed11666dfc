#!/usr/bin/env bash
# What a stranger's `cmake` is told: of a oneDNN that will not do, what is needed; and warnings are no errors for him.
# configure.sh SOURCE COMPILER
set -euo pipefail
source=$1 compiler=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "failed: $*" >&2; exit 1; }
configure() { cmake -S "$source" -B "$work/build" -DCMAKE_CXX_COMPILER="$compiler" -DLWSVM_TESTS=OFF -DLWSVM_BENCH=OFF -DLWSVM_REPORT=OFF "$@"; }

mkdir -p "$work/new/oneapi/dnnl"
touch "$work/new/dnnl.hpp"
printf '#define DNNL_VERSION_MAJOR 3\n#define DNNL_VERSION_MINOR 1\n' >"$work/new/oneapi/dnnl/dnnl_version.h"
if configure -DDNNL_INCLUDE="$work/new" >"$work/log" 2>&1; then fail "oneDNN 3 was taken"; fi
tr -s ' \n' ' ' <"$work/log" >"$work/line"
grep -q 'oneDNN 3.1 was found in .*; lwsvm needs 2.6 or 2.7' "$work/line" || fail "not said: $(cat "$work/log")"
rm -r "$work/build"

configure -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >"$work/log" 2>&1 || fail "$(tail -5 "$work/log")"
[ -s "$work/build/compile_commands.json" ] || fail "there are no compile commands to look at"
if grep -q -e -Werror "$work/build/compile_commands.json"; then fail "-Werror for somebody who did not ask for it"; fi
echo "a stranger's cmake is told what it needs"
