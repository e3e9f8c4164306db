# The set-up that the scripts share: Go, and the distribution's packages. Sourced, after "program" is
# set to the name that starts each line of output.
# shellcheck shell=bash

say() {
	printf '%s: %s\n' "${program:?}" "$*"
}

stop() {
	printf '%s: %s\n' "${program:?}" "$*" >&2
	exit 1
}

# need_go finds Go and checks its version. Go may not be on PATH, as under sudo.
need_go() {
	local folder version
	for folder in /usr/local/go/bin "${HOME:-/root}/go/bin" /usr/lib/go/bin; do
		command -v go >/dev/null && break
		[[ ! -x $folder/go ]] || PATH=$folder:$PATH
	done
	export PATH
	command -v go >/dev/null ||
		stop "Go is missing: install it from https://go.dev/dl, or put its bin folder on PATH"
	# In the checkout this is the Go that go.mod requires, which an older Go may have to fetch.
	version=$(go version 2>&1) || stop "Go 1.24 or newer is needed: ${version##*$'\n'}"
	if [[ $version =~ go1\.([0-9]+) ]] && ((BASH_REMATCH[1] < 24)); then
		stop "Go 1.24 or newer is needed, and $(command -v go) is go1.${BASH_REMATCH[1]}: install one from https://go.dev/dl"
	fi
	say "using $(command -v go), $(cut -d' ' -f3 <<<"$version")"
	# Go ignores headers outside of a package's folder when it decides what to rebuild. So their checksum is a flag.
	CGO_CFLAGS="${CGO_CFLAGS:--g -O2} -DGOUDAT_HEADERS=$(cat include/goudat/*.h | sha256sum | cut -c1-16)"
	export CGO_CFLAGS
}

# need_platform stops on systems where nothing can work.
need_platform() {
	[[ $(uname -s) == Linux ]] || stop "uDAPL needs Linux, and this is $(uname -s)"
	[[ -n ${GOUDAT_CACHE:-}${XDG_CACHE_HOME:-}${HOME:-} ]] ||
		stop "there is no HOME: set GOUDAT_CACHE to a folder for downloads and builds"
}

# need_native_stack sets up the native stack and what cgo needs.
need_native_stack() {
	command -v "${CC:-gcc}" >/dev/null || need_packages gcc libc6-dev
	command -v pkg-config >/dev/null || need_packages pkg-config
	"${checkout:?}/scripts/native" || exit
	# shellcheck source=/dev/null # there is none before it is built
	. "$(native_build release)/env"
	say "using $(native_versions "$(native_build release)")"
}

# build_tools_command prints the command that installs the build tools for scripts/native, on the system that a file
# os-release describes. It prints nothing for unknown systems.
build_tools_command() (
	tools="gcc make cmake autoconf automake libtool patch tar xz gzip curl libnl3-devel"
	ID="" ID_LIKE=""
	# shellcheck source=/dev/null
	! [[ -r $1 ]] || . "$1"
	case " $ID $ID_LIKE " in
	*" fedora "* | *" rhel "*) echo "dnf install $tools ninja-build pkgconf-pkg-config python3" ;;
	*" suse "* | *" opensuse "*) echo "zypper install $tools ninja pkg-config python3" ;;
	*" arch "*) echo "pacman -S --needed base-devel cmake ninja libnl python curl" ;;
	esac
)

# native_home prints the folder for the builds of scripts/native. It is the user's: another clone uses what one has built.
native_home() {
	readlink -m -- "${GOUDAT_NATIVE_DIR:-${XDG_DATA_HOME:-${HOME:?set it, or GOUDAT_NATIVE_DIR}/.local/share}/goudat}"
}

# native_recipe prints a short checksum of what a build is made by. Clones with other patches have another.
native_recipe() {
	cat -- "${checkout:?}"/scripts/{native,tsan.supp} "$checkout"/scripts/dapl/*/*.patch | sha256sum | cut -c1-12
}

# native_build VARIANT: prints the folder of this clone's build.
native_build() {
	printf '%s/%s-%s\n' "$(native_home)" "$1" "$(native_recipe)"
}

# native_versions PREFIX: prints the versions of a build of scripts/native, and where it is.
native_versions() {
	printf '%s, in %s\n' "$(cat -- "$1/lib/goudat/versions")" "$1"
}

# need_testbed installs what a virtual machine needs: Debian's keys, which sign the kernel, and xz and zstd: one of them
# unpacks its image, so that it boots faster. The machine's init uses the commands of iproute2.
need_testbed() {
	need_packages qemu-system-x86 iproute2 xz-utils zstd debian-archive-keyring
}

# build_pair C GO FOLDER: builds the C program of scripts/sidebyside and the Go program in these folders into FOLDER.
build_pair() {
	local flags libraries
	read -ra flags <<<"$CGO_CFLAGS $(pkg-config --cflags goudat)"
	read -ra libraries <<<"$(pkg-config --libs goudat)"
	"${CC:-gcc}" "${flags[@]}" -std=gnu11 -O2 -Wall -Wextra -Werror scripts/sidebyside/{cprogram,"$1"}/*.c "${libraries[@]}" \
		-o "$3/$1" || stop "$1 does not build, see above"
	go build -buildvcs=false -o "$3/${2##*/}" "./$2" || stop "$2 does not build, see above"
}

is_installed() {
	dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed
}

# need_packages installs missing packages.
need_packages() {
	local name missing=() found=is_installed
	[[ $(type -P dpkg-query apt-get | wc -l) == 2 ]] || found=has_equivalent
	for name in "$@"; do
		"$found" "$name" || missing+=("$name")
	done
	((${#missing[@]})) || return 0
	[[ $found == is_installed ]] ||
		stop "this is neither Debian nor Ubuntu, where it would install ${missing[*]}: install their equivalents, and run this again"
	local as_root=() log lists="" install=(install -y --no-install-recommends "${missing[@]}")
	become_root "${missing[@]}"
	log=$(mktemp) || stop "cannot make a temporary file"
	if ! have_package_lists; then
		say "fetching the package lists"
		apt "$log" update || lists=$(complaint "$log")
	fi
	say "installing ${missing[*]}"
	if ! apt "$log" "${install[@]}"; then
		# Outdated lists name files that are gone.
		say "that failed: fetching the package lists again"
		lists=""
		apt "$log" update || lists=$(complaint "$log")
		say "installing ${missing[*]}"
		# A list that could not be fetched is the likely reason for all other errors.
		apt "$log" "${install[@]}" || stop "${missing[*]} cannot be installed: ${lists:-$(complaint "$log")}"
	fi
	rm -f -- "$log"
}

# has_equivalent succeeds if a system without Debian's packages has what a package is needed for.
has_equivalent() {
	case $1 in
	ca-certificates | debian-archive-keyring) ;; # what needs them says so itself
	libc6-dev) "${CC:-gcc}" -include stdlib.h -E -x c /dev/null ;;
	qemu-system-x86) command -v qemu-system-x86_64 ;;
	qemu-system-arm) command -v qemu-system-aarch64 ;;
	gcc-aarch64-linux-gnu) command -v aarch64-linux-gnu-gcc ;;
	xz-utils) command -v xz ;;
	iproute2) command -v ip ;;
	*) command -v "$1" ;;
	esac >/dev/null 2>&1
}

# become_root sets as_root to the prefix of commands that must run as root, to install the given packages.
become_root() {
	((EUID != 0)) || return 0
	command -v sudo >/dev/null || stop "root must install $*: run apt-get install $*, or this as root"
	as_root=(sudo)
	# Without a terminal, asking for the password would fail later and with a less clear message.
	[[ -t 0 ]] || sudo -n true 2>/dev/null ||
		stop "$* must be installed, and sudo wants a password: run apt-get install $* first"
}

have_package_lists() {
	compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null
}

# apt runs apt-get and shows its progress: the size of the download, then a line every five seconds.
apt() {
	local log=$1 line last=$SECONDS
	shift
	"${as_root[@]}" env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get -q \
		-o DPkg::Lock::Timeout=300 -o APT::Update::Error-Mode=any "$@" \
		</dev/null 2>&1 | tee "$log" | while IFS= read -r line; do
		case $line in
		'Need to get'* | 'Fetched '*) say "  $line" ;;
		Get:* | 'Unpacking '* | 'Setting up '*)
			((SECONDS - last >= 5)) || continue
			last=$SECONDS
			say "  $line"
			;;
		esac
	done
}

# complaint prints the first error of a log, or else the first warning.
complaint() {
	{ grep '^E: ' "$1" || grep '^W: ' "$1" || tail -n 1 "$1"; } | head -n 1 | cut -c4-
}
