#!/usr/bin/env bash
# clang-format and clang-tidy over our sources; no output and exit code 0 when all is well.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t all < <(git ls-files --cached --others --exclude-standard -- 'src/**.cc' 'src/**.h' 'include/**.h' \
  'python/**.cc' 'python/**.h' 'tests/**.cc' 'tests/**.h' 'bench/**.cc' 'bench/**.h' 'examples/**.cc')
clang-format --dry-run -Werror "${all[@]}"

# Only configured, never built: here every file is compiled by itself, so that it must include what it needs.
cmake --preset lint >/dev/null

# clang does not know g++'s own flags: leave those to the build.
mapfile -t sources < <(git ls-files --cached --others --exclude-standard -- 'src/**.cc' 'python/**.cc')
printf '%s\0' "${sources[@]}" | xargs -0 -n 1 -P "$(nproc)" clang-tidy -p build/lint --quiet \
  --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-unused-command-line-argument --warnings-as-errors='*' 2> >(grep -v 'warnings generated\|^Suppressed\|^Use -header' >&2 || true)
