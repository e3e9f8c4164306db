# Finding the RDMA device of this machine. Sourced.
# shellcheck shell=bash

# find_device sets device, port, netdev and address (an IPv4 address) to those of the first RDMA device that this user
# can run uDAPL over. Without one it fails, and sets no_device to the reason.
find_device() {
	local path reason=""
	no_device="there is no RDMA device"
	[[ -d /sys/module/rdma_rxe || -d /sys/module/siw ]] ||
		no_device+=", and neither of the kernel modules rdma_rxe and siw is loaded"
	for path in /sys/class/infiniband/*/ports/*; do
		[[ -d $path ]] || continue
		port=${path##*/}
		device=${path#/sys/class/infiniband/}
		device=${device%%/*}
		netdev="" address=""
		if reason=$(port_problem "$path"); then
			find_address "$path" && return 0
			reason="it has no network interface that is up and has an IPv4 address"
		fi
		no_device="the RDMA device $device cannot be used: $reason"
	done
	return 1
}

# port_problem fails and prints what is wrong with a port.
port_problem() {
	local state verbs owner node=/dev/infiniband/uverbs
	read -r state <"$1/state"
	if [[ $state != *ACTIVE ]]; then
		echo "port $port is in the state $state"
		return 1
	fi
	for verbs in /sys/class/infiniband_verbs/uverbs*; do
		read -r owner 2>/dev/null <"$verbs/ibdev" || continue
		[[ $owner != "$device" ]] || node=/dev/infiniband/${verbs##*/}
	done
	for node in "$node" /dev/infiniband/rdma_cm; do
		if [[ ! -e $node ]]; then
			echo "$node is missing: load the kernel modules ib_uverbs and rdma_ucm"
			return 1
		fi
		if [[ ! -r $node || ! -w $node ]]; then
			echo "you may not read and write $node"
			return 1
		fi
	done
}

# find_address sets netdev and address. A RoCE port has its interface's IPv4 addresses in its GID table. Other kinds of
# device have an interface of their own; the GIDs of iWARP are from it, too.
find_address() {
	local file gid name
	for file in "$1"/gids/*; do
		read -r gid <"$file" || continue
		[[ $gid == 0000:0000:0000:0000:0000:ffff:* ]] || continue
		read -r netdev 2>/dev/null <"$1/gid_attrs/ndevs/${file##*/}" || continue
		is_up "$netdev" || continue
		gid=${gid#0000:0000:0000:0000:0000:ffff:}
		gid=${gid/:/}
		address=$((16#${gid:0:2})).$((16#${gid:2:2})).$((16#${gid:4:2})).$((16#${gid:6:2}))
		return 0
	done
	command -v ip >/dev/null || return
	for name in $(netdevs_of "$1"); do
		netdev=$name
		is_up "$netdev" || continue
		address=$(ip -4 -o address show dev "$netdev" | sed -n 's|.* inet \([0-9.]*\)/.*|\1|p' | head -n1)
		[[ -z $address ]] || return 0
	done
	return 1
}

# is_iwarp succeeds for a device that speaks iWARP.
is_iwarp() {
	local kind
	read -r kind <"/sys/class/infiniband/$1/node_type"
	[[ $kind == 4:* ]]
}

# netdevs_of prints the known network interfaces of a port. For iWARP, older kernels report them only to the rdma
# program.
netdevs_of() {
	local file name
	for file in "$1"/gid_attrs/ndevs/*; do
		! read -r name 2>/dev/null <"$file" || echo "$name"
	done
	for file in "/sys/class/infiniband/$device/device/net/"*; do
		[[ ! -e $file ]] || echo "${file##*/}"
	done
	! command -v rdma >/dev/null || rdma link show "$device/$port" 2>/dev/null | sed -n 's/.* netdev \([^ ]*\).*/\1/p'
}

is_up() {
	local flags
	read -r flags 2>/dev/null <"/sys/class/net/$1/flags" && ((flags & 1))
}
