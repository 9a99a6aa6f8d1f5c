#!/bin/sh
# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
#
# check_packages.sh FOLDER [SUITE]: makes a small Debian in FOLDER/root, as root, with Python, numpy and a C compiler, and tries
# the packages of FOLDER there: wheel and archive as an unprivileged user, then the Debian packages, which are installed, tried
# and removed; the files before and after are compared. SUITE is the release of Debian, by default that of this machine;
# the Debian packages are tried only in that one.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
folder=$(realpath "$1")
# shellcheck disable=SC1091
own=$(. /etc/os-release && echo "$VERSION_CODENAME")
suite=${2:-$own}
root=$folder/root

fail() { printf 'check_packages.sh: %s\n' "$*" >&2; exit 1; }
inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive chroot "$root" "$@"; }
quietly() { "$@" >"$folder/check.log" 2>&1 || { tail -n 30 "$folder/check.log"; fail "failed: $*"; }; }

[ "$(id -u)" = 0 ] || fail "only root can make a new Debian: run it as root"

#------------------------------------ a small Debian ------------------------------------

# from the mirror that apt of this machine uses
# shellcheck disable=SC2016
mirror=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' 'Origin: Debian' 'Component: main' |
  sed -n "s/ $own\$//p" | sort -u | head -n 1)
[ -n "$mirror" ] || fail "apt names no archive of Debian"
if [ "$(cat "$root/complete" 2>/dev/null)" != "$suite" ]; then
  echo "making a Debian $suite in $root"
  rm -rf --one-file-system "$root"
  quietly debootstrap --variant=minbase "$suite" "$root" "$mirror"
  if [ "$suite" = "$own" ]; then # with the updates that the packages were built with
    rm -f "$root/etc/apt/sources.list"
    cp -r /etc/apt/sources.list* /etc/apt/apt.conf.d "$root/etc/apt/"
  fi
  quietly inside apt-get update -qq
  quietly inside apt-get install -y -qq --no-install-recommends python3-numpy python3-pandas python3-venv gcc libc6-dev xz-utils
  echo "$suite" >"$root/complete"
fi
mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
trap 'umount "$root/proc"' EXIT INT TERM
rm -rf "$root/couplet"
mkdir "$root/couplet"
cp -r "$here/docs" "$here/examples" "$here/packaging" "$here/tools" "$here/CMakeLists.txt" "$root/couplet/"
find "$folder" -maxdepth 1 \( -name '*.whl' -o -name '*.deb' -o -name '*.tar.xz' \) -exec cp {} "$root/couplet/" \;
found=$(find "$root/usr/lib" "$root/usr/local" -name '*couplet*' -o -name 'libfyaml.so*')
[ -z "$found" ] || fail "what is to be tried without these is there: $found"

#------------------------------------ wheel and archive ------------------------------------

user="runuser -u nobody -- env HOME=/tmp"
# shellcheck disable=SC2086
for wheel in "$root"/couplet/*.whl; do
  inside $user /couplet/tools/check_wheel.sh "/couplet/$(basename "$wheel")"
done
# shellcheck disable=SC2086
for archive in "$root"/couplet/*.tar.xz; do
  inside $user /couplet/tools/tarball.py --try "/couplet/$(basename "$archive")"
done
[ "$suite" = "$own" ] || exit 0

#------------------------------------ Debian packages ------------------------------------

names="couplet libcouplet0.2 libcouplet-dev python3-couplet"
debs=$(cd "$root" && echo couplet/*.deb)
list() { # all files but those in which dpkg, apt and ldconfig keep their state
  (cd "$root" && find . \( -path ./proc -o -path ./tmp -o -path ./couplet -o -path ./var/lib/dpkg -o -path ./var/lib/apt -o -path ./var/cache \
    -o -path ./var/log \) -prune -o -printf '%p %y %l\n' | sort)
}
remove="dpkg --purge python3-couplet libcouplet-dev libcouplet0.2 couplet"

# once with apt, which brings the dependencies
# shellcheck disable=SC2046,SC2086
quietly inside apt-get install -y -qq --no-install-recommends $(for deb in $debs; do echo "/$deb"; done) libklu1 libzmq5 pkg-config
# shellcheck disable=SC2086
quietly inside $remove
list >"$folder/files.before"

# shellcheck disable=SC2086
quietly inside dpkg -i $debs
for name in $names; do
  [ -z "$(inside dpkg --verify "$name")" ] || fail "$name: installed files differ"
done
# shellcheck disable=SC2086
inside $user python3 /couplet/packaging/try_package.py /couplet
cp "$here/tests/consumer/consumer.c" "$root/couplet/"
# shellcheck disable=SC2016
inside sh -c 'cd /tmp && gcc /couplet/consumer.c -o consumer $(pkg-config --cflags --libs couplet) -lm && ./consumer'
[ -e "$root/usr/share/man/man1/couplet.1.gz" ] || fail "there is no manual page"
list >"$folder/files.installed"

# shellcheck disable=SC2086
quietly inside $remove
list >"$folder/files.after"
diff "$folder/files.before" "$folder/files.after" || fail "the packages leave files behind"
echo "$names: installed ($(($(wc -l <"$folder/files.installed") - $(wc -l <"$folder/files.before"))) files and folders), tried and removed; nothing is left"
# without the dependencies, for the next time
# shellcheck disable=SC2086
quietly inside apt-get purge -y -qq libfyaml0 libklu1 libzmq5 zlib1g-dev libexpat1-dev libfyaml-dev pkg-config
quietly inside apt-get autopurge -y -qq
