#!/usr/bin/env bash
# Installs what is missing for a purpose; does nothing, quickly, when nothing is.
#
#   scripts/install-deps.sh build    compiler, CMake, libraries; npm, and uPlot, which draws the report's curves
#   scripts/install-deps.sh demo     build + the Fashion-MNIST data set
#   scripts/install-deps.sh python   build + what the Python package is built with: pybind11, Python's headers, setuptools, pip, numpy
#   scripts/install-deps.sh mpi      build + Open MPI, for runs on many machines
#   scripts/install-deps.sh test     demo + python, mpi, pytest, scikit-learn, pandas, matplotlib, tqdm, mypy, Python's onnx and
#                                    Pillow, ONNX's test data, LIBLINEAR, Chromium, ONNX Runtime for node
#   scripts/install-deps.sh notebook python + what docs/python.ipynb is run with, PyTorch among it
#   scripts/install-deps.sh bench    test + PyTorch and torchvision
#   scripts/install-deps.sh lint     build + clang-format, clang-tidy
#   scripts/install-deps.sh fuzz     build + clang with its sanitizers, libFuzzer and OpenMP
#
# With LWSVM_REPORT=OFF in the environment without npm and uPlot, for a build with -DLWSVM_REPORT=OFF.
#
# On Debian and its kin through apt (with sudo unless root). Elsewhere it says what is missing and exits with 1.
set -euo pipefail
cd "$(dirname "$0")/.."

# Debian package = how to see that it is there without dpkg (cmd: a program, hdr: a C++ header, py: a module, file: a file)
build=(
  g++=cmd:g++ cmake=cmd:cmake ninja-build=cmd:ninja make=cmd:make pkg-config=cmd:pkg-config git=cmd:git
  libdnnl-dev=hdr:dnnl.hpp libeigen3-dev=hdr:eigen3/Eigen/Core libonnx-dev=hdr:onnx/onnx-ml.pb.h
  libprotobuf-dev=hdr:google/protobuf/message.h protobuf-compiler=cmd:protoc libcli11-dev=hdr:CLI/CLI.hpp
  libfmt-dev=hdr:fmt/format.h nlohmann-json3-dev=hdr:nlohmann/json.hpp
  zlib1g-dev=hdr:zlib.h libpng-dev=hdr:png.h libjpeg62-turbo-dev=hdr:jpeglib.h libwebp-dev=hdr:webp/decode.h libarchive-dev=hdr:archive.h libssl-dev=hdr:openssl/evp.h
  libgtest-dev=hdr:gtest/gtest.h libgmock-dev=hdr:gmock/gmock.h
  libbenchmark-dev=hdr:benchmark/benchmark.h nodejs=cmd:node npm=cmd:npm
)
data=(dataset-fashion-mnist=file:/usr/share/datasets/fashion-mnist)
test=(
  chromium=cmd:chromium python3=cmd:python3 python3-numpy=py:numpy python3-onnx=py:onnx
  python3-pil=py:PIL liblinear-tools=cmd:liblinear-train libonnx-testdata=file:/usr/share/libonnx-testdata
)
python=(
  python3=cmd:python3 python3-dev=cmd:python3-config pybind11-dev=hdr:pybind11/pybind11.h
  python3-numpy=py:numpy python3-setuptools=py:setuptools python3-wheel=py:wheel python3-pip=py:pip
)
pytest=(
  python3-pytest=py:pytest python3-sklearn=py:sklearn python3-pandas=py:pandas python3-matplotlib=py:matplotlib
  python3-tqdm=py:tqdm mypy=py:mypy
)
notebook=(jupyter-nbconvert=py:nbconvert python3-nbconvert=py:nbconvert python3-ipykernel=py:ipykernel python3-torch=py:torch)
bench=(python3-torch=py:torch python3-torchvision=py:torchvision)
mpi=(libopenmpi-dev=cmd:mpicxx openmpi-bin=cmd:mpirun)
lint=(clang-format=cmd:clang-format clang-tidy=cmd:clang-tidy)
fuzz=(clang=cmd:clang++ libclang-rt-dev=file:/usr/lib/clang libomp-dev=file:/usr/lib/libomp.so)

# Without the report there is no need for npm.
if [ "${LWSVM_REPORT:-ON}" = OFF ]; then
  build=("${build[@]/nodejs=*/}")
  build=("${build[@]/npm=*/}")
  build=(${build[@]})
fi

group=${1:-build}
case ${group#--} in
  build) wanted=("${build[@]}") ;;
  demo) wanted=("${build[@]}" "${data[@]}") ;;
  python) wanted=("${build[@]}" "${python[@]}") ;;
  mpi) wanted=("${build[@]}" "${mpi[@]}") ;;
  test) wanted=("${build[@]}" "${data[@]}" "${test[@]}" "${mpi[@]}" "${python[@]}" "${pytest[@]}") ;;
  notebook) wanted=("${build[@]}" "${data[@]}" "${python[@]}" "${pytest[@]}" "${notebook[@]}") ;;
  bench) wanted=("${build[@]}" "${data[@]}" "${test[@]}" "${mpi[@]}" "${python[@]}" "${pytest[@]}" "${bench[@]}") ;;
  lint) wanted=("${build[@]}" "${lint[@]}") ;;
  fuzz) wanted=("${build[@]}" "${fuzz[@]}") ;;
  *) echo "usage: $0 build|demo|python|mpi|test|notebook|bench|lint|fuzz" >&2; exit 2 ;;
esac

has_dpkg=false
installed=""
if command -v dpkg-query >/dev/null; then
  has_dpkg=true
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${wanted[@]%%=*}" 2>/dev/null || true)
fi

is_there() {  # package kind what
  case $2 in
    cmd) command -v "$3" >/dev/null && return 0 ;;  # also when it did not come from a package, as node often
  esac
  if $has_dpkg; then
    grep -qxF "installed $1" <<<"$installed"
    return
  fi
  case $2 in
    hdr) command -v g++ >/dev/null && g++ -std=c++20 -E -include "$3" -x c++ /dev/null >/dev/null 2>&1 ;;
    py) /usr/bin/python3 -c "import $3" >/dev/null 2>&1 ;;  # the system's: one of pyenv would not see its modules
    file) [ -e "$3" ] ;;
    *) return 1 ;;
  esac
}

missing=()
for entry in "${wanted[@]}"; do
  package=${entry%%=*} probe=${entry#*=}
  is_there "$package" "${probe%%:*}" "${probe#*:}" || missing+=("$package")
done

if [ ${#missing[@]} -gt 0 ]; then
  if ! command -v apt-get >/dev/null; then
    echo "Missing (by their Debian names): ${missing[*]}" >&2
    echo "There is no apt here: please install these with your system's own means." >&2
    exit 1
  fi
  root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "Missing: ${missing[*]}" >&2
      echo "As root, run: apt-get install --no-install-recommends ${missing[*]}" >&2
      exit 1
    fi
    root=(sudo)
  fi
  echo "installing: ${missing[*]}" >&2
  "${root[@]}" apt-get update -q
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
fi

# From npm into build/FOLDER, which all presets share; nothing of the package is run.
from_npm() {  # package version folder
  grep -qs "\"version\": \"$2\"" "build/$3/node_modules/$1/package.json" && return 0
  echo "installing: $1 $2 into build/$3" >&2
  mkdir -p "build/$3"
  npm install --ignore-scripts --no-save --no-audit --no-fund --loglevel=error --prefix "build/$3" "$1@$2" >&2
}

# It becomes part of the program: src/report/CMakeLists.txt knows its checksums.
[ "${LWSVM_REPORT:-ON}" = OFF ] || from_npm uplot 1.6.32 web

# ONNX Runtime, the judge of our ONNX files. Its tests are skipped where it cannot be had, so this is no failure.
case ${group#--} in
  test | bench)
    from_npm onnxruntime-node 1.16.3 oracles ||
      echo "warning: onnxruntime-node cannot be installed; the tests against ONNX Runtime will be skipped" >&2
    ;;
esac
