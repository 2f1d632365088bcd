#!/bin/sh
# Runs .clang-tidy over the sources that a build folder compiles. Usage: clang_tidy.sh PROJECT_ROOT BUILD [FILE...]
root=$1 build=$2
shift 2
cd "$root" || exit 1
# Other versions have other checks; 14 is Debian 12's.
case "$(clang-tidy --version 2>/dev/null)" in
  *version\ 14.*) ;;
  *)
    echo "skipped: clang-tidy 14 is not installed"
    exit 77
    ;;
esac
# GCC's command lines, without the warnings that Clang does not know or reports in headers of libraries.
database=$(mktemp -d)
trap 'rm -rf "$database"' EXIT
sed 's/ -Werror / -Wno-unknown-warning-option -Wno-unknown-pragmas -Wno-c99-extensions /' "$build/compile_commands.json" \
  >"$database/compile_commands.json"
[ $# -gt 0 ] || set -- $(find engine datasets models cli -name '*.cpp' | sort)
printf '%s\n' "$@" | xargs -P "$(nproc)" -n 4 clang-tidy --quiet -p "$database" 2>/dev/null
