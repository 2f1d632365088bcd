#!/bin/sh
# Runs .clang-tidy over the sources that a build compiles. Usage: clang_tidy.sh PROJECT_ROOT [FILE...]
root=$(realpath "$1")
shift
cd "$root" || exit 1
# Other versions have other checks; 14 is Debian 12's.
case "$(clang-tidy --version 2>/dev/null)" in
  *version\ 14.*) ;;
  *)
    echo "skipped: clang-tidy 14 is not installed"
    exit 77
    ;;
esac
# GCC's command lines of sources in groups, which read each header once, without the warnings that Clang does not know or
# reports in headers of libraries. As in builds with Clang, changes of sign are no conversions.
database=$(mktemp -d)
trap 'rm -rf "$database"' EXIT
build=$database/build
{ CXX=g++ meson setup "$build" "$root" -Db_pch=false && ninja -C "$build" cli/version.cpp; } >"$database/log" ||
  { cat "$database/log"; exit 1; }
sed -e 's/ -Werror / -Wno-unknown-warning-option -Wno-unknown-pragmas -Wno-c99-extensions /' \
    "$build/compile_commands.json" >"$database/compile_commands.json"
[ $# -gt 0 ] || set -- $(sed -n 's/^ *"file": "\(.*\.cpp\)",*$/\1/p' "$build/compile_commands.json" |
  (cd "$build" && xargs realpath) | grep "^$root/\(engine\|datasets\|models\|cli\|tests\)/\|-unity[0-9]*\.cpp$" | sort -u)
printf '%s\n' "$@" |
  xargs -P "$(nproc)" -n 4 clang-tidy --quiet --config-file="$root/.clang-tidy" -p "$database" --extra-arg=-Wno-sign-conversion 2>/dev/null
