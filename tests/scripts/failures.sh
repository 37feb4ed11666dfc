#!/usr/bin/env bash
# `make test` goes on to the end whatever fails, and its last line says what did. Seen with stand-ins for cmake and ctest that
# fail as they are told: failures.sh SOURCE
set -euo pipefail
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "failed: $*" >&2; exit 1; }

mkdir -p "$work/bin" "$work/scripts"
cp "$source/Makefile" "$work"
cp "$source/scripts/test.sh" "$work/scripts"
printf '#!/bin/sh\n' >"$work/scripts/install-deps.sh"
cat >"$work/bin/cmake" <<'END'
#!/bin/sh
echo "cmake $*" >>"$CALLS"
case "$*" in "--build --preset $DOES_NOT_BUILD "*) exit 1 ;; esac
END
cat >"$work/bin/ctest" <<'END'
#!/bin/sh
echo "ctest $*" >>"$CALLS"
[ "$2" = "$HAS_FAILURES" ] || exit 0
mkdir -p "build/$2/Testing/Temporary"
printf '3:net/Relu.One\n12:base/Two.Three\n' >"build/$2/Testing/Temporary/LastTestsFailed.log"
exit 8
END
chmod +x "$work"/bin/* "$work"/scripts/*
export CALLS=$work/calls
unset MAKEFLAGS MAKELEVEL MFLAGS

check() {  # exit code, end of the last line
  local status=0
  : >"$CALLS"
  (cd "$work" && PATH=$work/bin:$PATH make test) >"$work/log" 2>&1 || status=$?
  [ "$status" -eq "$1" ] || fail "make test ended with $status: $(cat "$work/log")"
  [[ $(tail -1 "$work/log") == *"$2"* ]] || fail "the last line is: $(tail -1 "$work/log")"
  [ "$(grep -c '^ctest' "$CALLS")" -eq 3 ] || fail "not all presets were tested: $(cat "$CALLS")"
}

export DOES_NOT_BUILD=none HAS_FAILURES=none
check 0 "all tests passed: release asan-ubsan tsan"
HAS_FAILURES=release check 2 "failed: release: net/Relu.One, base/Two.Three."
DOES_NOT_BUILD=asan-ubsan HAS_FAILURES=tsan check 2 "failed: asan-ubsan: does not build; tsan: net/Relu.One, base/Two.Three."
echo "every failure was named in the last line"
