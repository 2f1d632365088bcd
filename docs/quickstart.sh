#!/bin/sh
# From a bare Debian 12 to a trained network:
#   sh docs/quickstart.sh        install the packages, build, train configs/mnist-small.yaml on 4 processes, install
#   sh docs/quickstart.sh test   install the packages, build, run every test, also against MPICH and for aarch64
# TRAINER_TEST_OPTIONS: Meson options of the tests, such as -Dreal_data=PATH.
# Root or sudo is needed for packages only. Running it again does only what is left to do.
set -eu

packages="g++ meson ninja-build pkg-config libopenmpi-dev openmpi-bin libopenblas-dev libyaml-cpp-dev libcli11-dev
  libfmt-dev nlohmann-json3-dev zlib1g-dev libhwloc-dev libpng-dev libjpeg-dev libwebp-dev libpcre2-dev libsentencepiece-dev libonnx-dev libprotobuf-dev
  libcurl4-openssl-dev libarchive-dev libssl-dev libcpp-httplib-dev catch2"
test_packages="zsh fish clang-format mpich libmpich-dev qemu-user g++-aarch64-linux-gnu python3-jsonschema python3-yaml sentencepiece libopencv-dnn-dev ccache"

report() { printf '== %s\n' "$*"; }

fail() {
  printf 'quickstart: %s\n' "$*" >&2
  exit 1
}

# quietly LOG COMMAND...: the output goes to LOG; the end of it is shown when the command fails.
quietly() {
  log=$1
  shift
  "$@" >"$log" 2>&1 </dev/null || {
    tail -n 40 "$log" >&2
    fail "this failed: $* (all of its output: $log)"
  }
}

is_installed() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

install_packages() {
  command -v apt-get >/dev/null && command -v dpkg-query >/dev/null ||
    fail "this is not Debian: apt-get is missing. docs/install.md names the libraries that the build needs."
  missing=
  for package in "$@"; do
    is_installed "$package" || missing="$missing $package"
  done
  [ -n "$missing" ] || return 0
  as_root=
  if [ "$(id -u)" -ne 0 ]; then
    as_root=sudo
    command -v sudo >/dev/null || fail "packages are missing, and neither root nor sudo is there to install them:$missing"
    sudo -v || fail "sudo does not let you install packages; not installed:$missing"
  fi
  report "installing packages (see build/packages.log):$missing"
  quietly build/packages.log $as_root env DEBIAN_FRONTEND=noninteractive apt-get update
  # Unquoted on purpose: a list of names, and sudo or nothing.
  quietly build/packages.log $as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install --yes --no-install-recommends $missing
}

# set_up FOLDER OPTIONS...: a build folder with these options, also if another program created it.
set_up() {
  folder=$1
  shift
  mkdir -p "$folder"
  verb=setup
  [ ! -f "$folder/build.ninja" ] || verb=configure
  quietly "$folder/setup.log" meson $verb "$folder" "$@"
}

run_tests() {
  report "testing with Open MPI"
  meson test -C build --print-errorlogs --timeout-multiplier 4 </dev/null || true
  set_up build-mpich -Dmpi=mpich ${TRAINER_TEST_OPTIONS-}
  report "building what uses MPI against MPICH and testing it"
  meson test -C build-mpich --print-errorlogs --timeout-multiplier 4 --suite mpi --suite end-to-end </dev/null || true
  test_for_aarch64
  python3 tests/support/total.py build build-mpich build-aarch64
}

# What breaks here counts as one failed test; if the network has no list of packages, as one skipped.
test_for_aarch64() {
  mkdir -p build-aarch64
  rm -f build-aarch64/skipped build-aarch64/meson-logs/testlog.json
  if [ ! -f build-aarch64/root/cross.ini ]; then
    report "fetching the libraries of aarch64"
    sh tests/support/foreign_libraries.sh arm64 build-aarch64/root >build-aarch64/libraries.log 2>&1 </dev/null || {
      [ $? -ne 77 ] || echo "no list of packages of arm64: $(head -n 1 build-aarch64/libraries.log)" >build-aarch64/skipped
      tail -n 5 build-aarch64/libraries.log
      return 0
    }
  fi
  cross_file=
  [ -f build-aarch64/build.ninja ] || cross_file="--cross-file build-aarch64/root/cross.ini"
  # Unquoted on purpose: an option or nothing. A shell of its own: the end of it is not that of this one.
  (set_up build-aarch64 $cross_file -Doptimization=1 -Dnative_trainer="$PWD/build/cli/trainer") || return 0
  report "building for aarch64 and testing under qemu"
  meson test -C build-aarch64 --print-errorlogs --timeout-multiplier 10 --suite unit --suite portable </dev/null || true
}

train_and_install() {
  report "training configs/mnist-small.yaml on 4 processes"
  build/cli/trainer -n 4 --datapar configs/mnist-small.yaml
  quietly build/install.log meson install -C build --no-rebuild
  report "installed $prefix/bin/trainer"
  case ":$PATH:" in
    *":$prefix/bin:"*) ;;
    *) printf 'To find it, add to ~/.profile:\n  export PATH="%s/bin:$PATH"\n' "$prefix" ;;
  esac
}

cd "$(dirname "$0")/.."
case "${1-}" in
  '') ;;
  test)
    packages="$packages $test_packages"
    # The build against MPICH finds the sources that do not depend on MPI compiled.
    export CCACHE_BASEDIR="$PWD" CCACHE_SLOPPINESS=pch_defines,time_macros
    ;;
  *) fail "usage: sh docs/quickstart.sh [test]" ;;
esac
prefix=/usr/local
[ "$(id -u)" -eq 0 ] || prefix=$HOME/.local

mkdir -p build
install_packages $packages
options=
[ "${1-}" != test ] || options=${TRAINER_TEST_OPTIONS-}
set_up build --prefix "$prefix" $options
report "building (a few minutes the first time; see build/ninja.log)"
if [ "${1-}" = test ]; then
  quietly build/ninja.log ninja -C build
  run_tests
else
  # Without the tests, which take longer to compile than the program.
  quietly build/ninja.log ninja -C build program
  train_and_install
fi
