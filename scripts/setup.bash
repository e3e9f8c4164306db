# The set-up that scripts/demo and scripts/test share: Go, and the distribution's packages. Sourced, after "program" is
# set to the name that starts each line of output.
# shellcheck shell=bash

say() {
	printf '%s: %s\n' "${program:?}" "$*"
}

stop() {
	printf '%s: %s\n' "${program:?}" "$*" >&2
	exit 1
}

# need_go finds Go and checks its version. It may be installed where no PATH leads, as under sudo.
need_go() {
	local folder version
	for folder in /usr/local/go/bin "${HOME:-/root}/go/bin" /usr/lib/go/bin; do
		command -v go >/dev/null && break
		[[ ! -x $folder/go ]] || PATH=$folder:$PATH
	done
	export PATH
	command -v go >/dev/null ||
		stop "Go is missing: install it from https://go.dev/dl, or put its bin folder on PATH"
	# In the checkout this is the Go that go.mod asks for, which an older one may have to fetch.
	version=$(go version 2>&1) || stop "Go 1.24 or newer is needed: ${version##*$'\n'}"
	if [[ $version =~ go1\.([0-9]+) ]] && ((BASH_REMATCH[1] < 24)); then
		stop "Go 1.24 or newer is needed, and $(command -v go) is go1.${BASH_REMATCH[1]}: install one from https://go.dev/dl"
	fi
	say "using $(command -v go), $(cut -d' ' -f3 <<<"$version")"
	# Go does not look at headers outside a package's folder when it decides what to build anew: their sum is a flag.
	CGO_CFLAGS="${CGO_CFLAGS:--g -O2} -DGOUDAT_HEADERS=$(cat include/goudat/*.h | sha256sum | cut -c1-16)"
	export CGO_CFLAGS
}

# need_platform stops where none of what follows could work.
need_platform() {
	[[ $(uname -s) == Linux ]] || stop "uDAPL needs Linux, and this is $(uname -s)"
	[[ -n ${GOUDAT_CACHE:-}${XDG_CACHE_HOME:-}${HOME:-} ]] ||
		stop "there is no HOME: set GOUDAT_CACHE to a folder for what is fetched and built"
}

# need_native_stack installs what cgo needs to build against the native stack, and what programs need to run on it:
# libibverbs has no rxe without ibverbs-providers.
need_native_stack() {
	has_native_stack ||
		need_packages gcc libc6-dev libdapl-dev libibverbs-dev librdmacm-dev ibverbs-providers
}

# need_testbed installs what a virtual machine needs. The kernel's image is unpacked with xz; it then boots faster.
need_testbed() {
	need_packages qemu-system-x86 xz-utils
}

# has_native_stack tells whether C programs build against the native stack, wherever it comes from.
has_native_stack() {
	local flags
	read -ra flags <<<"${CGO_CFLAGS:-} ${CGO_LDFLAGS:-}"
	printf '#include <dat2/udat.h>\n#include <infiniband/verbs.h>\n#include <rdma/rdma_cma.h>\nint main(void) { return 0; }\n' |
		"${CC:-gcc}" -x c - "${flags[@]}" -ldat2 -libverbs -lrdmacm -o /dev/null 2>/dev/null || return
	# A stack built from source has its providers within itself.
	! is_installed libibverbs1 || is_installed ibverbs-providers
}

is_installed() {
	dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed
}

# need_packages installs those packages that are missing.
need_packages() {
	local name missing=()
	[[ $(type -P dpkg-query apt-get | wc -l) == 2 ]] ||
		stop "this is neither Debian nor Ubuntu, where it would install $*: install what stands for them here, and run this again"
	for name in "$@"; do
		is_installed "$name" || missing+=("$name")
	done
	((${#missing[@]})) || return 0
	local as_root=()
	if ((EUID != 0)); then
		command -v sudo >/dev/null ||
			stop "${missing[*]} must be installed, by root: run apt-get install ${missing[*]}, or this as root"
		as_root=(sudo)
		# Without a terminal a question for the password would fail later, and less clearly.
		[[ -t 0 ]] || sudo -n true 2>/dev/null ||
			stop "${missing[*]} must be installed, and sudo wants a password: run apt-get install ${missing[*]} first"
	fi
	local log lists="" install=(install -y --no-install-recommends "${missing[@]}")
	log=$(mktemp) || stop "no temporary file can be made"
	if ! compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null; then
		say "fetching the package lists"
		apt "$log" update || lists=$(complaint "$log")
	fi
	say "installing ${missing[*]}"
	if ! apt "$log" "${install[@]}"; then
		# Lists that are older than the archive name files that are gone.
		say "that failed: fetching the package lists anew"
		lists=""
		apt "$log" update || lists=$(complaint "$log")
		say "installing ${missing[*]}"
		# A list that could not be fetched is the likely reason for all else.
		apt "$log" "${install[@]}" || stop "${missing[*]} cannot be installed: ${lists:-$(complaint "$log")}"
	fi
	rm -f -- "$log"
}

# apt runs apt-get and shows how far it is: the size of the download, then one line in five seconds.
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
