#!/bin/sh
# The libraries of another architecture in a folder, with a cross file for Meson; the packages of this machine stay as they are.
# Usage: foreign_libraries.sh arm64|riscv64|s390x FOLDER [SUITE]; ends with 77 if the network does not have the list of packages. Needs apt and root or a writable folder; riscv64 is in Debian from trixie on.
set -eu
architecture=$1
mkdir -p "$2"
folder=$(realpath "$2")
suite=${3:-bookworm}
case $architecture in
  arm64) family=aarch64 endian=little ;;
  riscv64) family=riscv64 endian=little ;;
  s390x) family=s390x endian=big ;;
  *) echo "no architecture $architecture" >&2; exit 2 ;;
esac
triplet=$family-linux-gnu
packages="libc6-dev libstdc++-12-dev libopenmpi-dev libopenblas-dev libyaml-cpp-dev libcli11-dev libfmt-dev nlohmann-json3-dev zlib1g-dev
  libhwloc-dev libpng-dev libjpeg-dev libwebp-dev libpcre2-dev catch2"

apt=$folder/apt
mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$apt/etc"
: >"$apt/status"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $suite main" >"$apt/etc/sources.list"
cat >"$apt/apt.conf" <<EOF
APT::Architecture "$architecture";
APT::Architectures { "$architecture"; };
APT::Sandbox::User "";
Dir::Etc::sourcelist "$apt/etc/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::State "$apt";
Dir::State::status "$apt/status";
Dir::Cache "$apt";
EOF
export APT_CONFIG="$apt/apt.conf"
apt-get update -qq --error-on=any || exit 77
# Unquoted on purpose: a list of names.
apt-get install -qq --yes --no-install-recommends --download-only $packages >"$apt/log"

for directory in bin lib lib64 sbin; do
  mkdir -p "$folder/usr/$directory"
  ln -sfn "usr/$directory" "$folder/$directory"
done
for package in "$apt"/archives/*.deb; do
  dpkg-deb --fsys-tarfile "$package" | tar -x --keep-directory-symlink -C "$folder"
done
# The linker and the emulator follow links on this machine.
find "$folder" -type l -lname '/*' | while read -r link; do
  target=$folder$(readlink "$link")
  [ ! -e "$target" ] || ln -sfn "$(realpath -ms --relative-to="$(dirname "$link")" "$target")" "$link"
done
# update-alternatives would link it.
ln -sf ../openblas-pthread/pkgconfig/openblas.pc "$folder/usr/lib/$triplet/pkgconfig/openblas.pc"

compiler="'$triplet-g++'"
! command -v ccache >/dev/null || compiler="['ccache', $compiler]"
# Libraries may need a newer C library than the cross compiler's: the emulator finds the one in the folder.
cat >"$folder/cross.ini" <<EOF
[binaries]
cpp = $compiler
ar = '$triplet-gcc-ar'
pkgconfig = 'pkg-config'
exe_wrapper = ['qemu-$family', '-L', '$folder']
[built-in options]
cpp_args = ['--sysroot=$folder']
cpp_link_args = ['--sysroot=$folder', '-Wl,--allow-shlib-undefined']
[properties]
sys_root = '$folder'
emulator = 'qemu-$family -L $folder'
pkg_config_libdir = ['$folder/usr/lib/$triplet/pkgconfig', '$folder/usr/share/pkgconfig']
[host_machine]
system = 'linux'
cpu_family = '$family'
cpu = '$family'
endian = '$endian'
EOF
