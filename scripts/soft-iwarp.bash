# For scripts that run programs on an RDMA device of this machine: a soft-iWARP device, for kernels that have soft-iWARP
# and no soft-RoCE, such as those of GitHub's runners. shellcheck shell=bash

# The device has its own network interface. No peer outside of the machine can reach its address.
soft_iwarp_device=goudat_siw
soft_iwarp_interface=goudat-siw
soft_iwarp_address=10.77.1.1

# add_soft_iwarp makes the device, and sets the variables of find_device. It needs root, and fails if the kernel has
# soft-RoCE, which the virtual machines have, too. Always call remove_soft_iwarp after it.
add_soft_iwarp() {
	((EUID == 0)) || return
	[[ $(type -P modprobe ip rdma | wc -l) == 3 ]] || return
	! modprobe --quiet --dry-run rdma_rxe 2>/dev/null || return
	modprobe --quiet --all siw rdma_ucm ib_uverbs dummy 2>/dev/null || return
	ip link add "$soft_iwarp_interface" type dummy 2>/dev/null || return
	soft_iwarp_added=1
	if ! { ip address add "$soft_iwarp_address/24" dev "$soft_iwarp_interface" &&
		ip link set "$soft_iwarp_interface" up &&
		rdma link add "$soft_iwarp_device" type siw netdev "$soft_iwarp_interface" &&
		await_device; } 2>/dev/null; then
		remove_soft_iwarp
		return 1
	fi
}

# await_device waits until programs can use the device: its files appear a moment later.
await_device() {
	local deadline=$((SECONDS + 10))
	until find_device; do
		((SECONDS < deadline)) || return
		sleep 0.1
	done
}

remove_soft_iwarp() {
	[[ -n ${soft_iwarp_added:-} ]] || return 0
	soft_iwarp_added=""
	rdma link delete "$soft_iwarp_device" 2>/dev/null || true
	ip link delete "$soft_iwarp_interface" 2>/dev/null || true
}
