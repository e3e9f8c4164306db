# The native stack as one object, which "go build -tags goudat_static" puts into a program. Sourced by scripts/native, after
# "prefix" is set to the build. In a file of its own, as it changes nothing in the build.
# shellcheck shell=bash
# shellcheck disable=SC2154 # scripts/native sets the variables

# Drivers with licenses of their own, see COPYING.md of rdma-core.
static_left_out='providers/(hfi1verbs|ipathverbs|ocrdma)(/man)?'

# make_static_object adds the object to the build, with a file for pkg-config.
make_static_object() {
	local to=$prefix/lib/goudat/static recipe ld objcopy
	recipe=$(cat -- "$checkout"/scripts/{native,static.bash,dapl/static/loader.c} | sha256sum | cut -d' ' -f1)
	if [[ $(cat -- "$to/recipe" 2>/dev/null) != "$recipe" ]]; then
		need_build_tools
		build_static_rdma_core
		say "linking the object for programs of one file"
		ld=$("$compiler" -print-prog-name=ld)
		objcopy=$("$compiler" -print-prog-name=objcopy)
		link_static_object
		write_static_pc
		echo "$recipe" >"$to/recipe"
		printf './%s\n' lib/goudat/static/{goudat.o,recipe} lib/pkgconfig/goudat-static.pc >>"$prefix/lib/goudat/files"
	fi
	say '"go build -tags goudat_static" makes programs of one file'
}

# build_static_rdma_core builds the archives of rdma-core once. Without the resolution of neighbors they do without libnl: it
# is for the addresses of datagrams.
build_static_rdma_core() {
	local all recipe
	static_rdma_core=$folder/rdma-core-static
	all=("${rdma_core_flags[@]}" -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE="-O2 -DNDEBUG" -DCMAKE_POSITION_INDEPENDENT_CODE=1
		-DENABLE_STATIC=1 -DENABLE_RESOLVE_NEIGH=0)
	recipe=$({ echo "$rdma_core_sha256 $rdma_core_left_out $static_left_out ${all[*]}" && cat -- "${rdma_core_patches[@]}"; } | sha256sum | cut -d' ' -f1)
	[[ $(cat -- "$static_rdma_core/recipe" 2>/dev/null) != "$recipe" ]] || return 0
	say "building the archives of rdma-core"
	unpack_rdma_core rdma-core-static "$rdma_core_left_out|$static_left_out"
	step cmake -G Ninja .. "${all[@]}"
	step ninja -j "$jobs" make_static
	rm -rf -- "$static_rdma_core" lib/libib[um]*ad.a
	mkdir -- "$work/archives"
	mv -- lib/*.a "$work/archives"
	echo "$recipe" >"$work/archives/recipe"
	mv -- "$work/archives" "$static_rdma_core"
}

# link_static_object links libdat2, the providers, rdma-core and the loader's stand-in. The object exports what package cgo and
# C programs call, so that nothing else in a program can clash with it.
link_static_object() {
	local at=$prefix/lib/goudat/rdma-core/lib name renamed=()
	step "$compiler" -c -fPIC -O2 -Wall -Wextra -Werror -DIBVERBS_VERSION="\"$(library_version "$at/libibverbs.so.1")\"" \
		-DRDMACM_VERSION="\"$(library_version "$at/librdmacm.so.1")\"" -o "$work/loader.o" "$checkout/scripts/dapl/static/loader.c"
	for name in dlopen dlsym dlclose dlerror; do
		renamed+=(--redefine-sym "$name=dat_static_$name")
	done
	step "$objcopy" "${renamed[@]}" "$to/dat2.o" "$work/dat2.o"
	step "$ld" -r -o "$work/goudat.o" "$work/loader.o" "$work/dat2.o" "$to"/dapl*.o --start-group "$static_rdma_core"/*.a --end-group
	step "$objcopy" --strip-debug --wildcard --keep-global-symbol="dat_*" --keep-global-symbol="dats_*" --keep-global-symbol="ibv_*" "$work/goudat.o"
	cp --remove-destination -- "$work/goudat.o" "$to/goudat.o" || stop "cannot write to $to, see above"
}

# library_version LINK: prints what follows ".so." in the name of the library's file.
library_version() {
	local file
	file=$(readlink -f -- "$1")
	echo "${file##*.so.}"
}

# Package cgo calls the loader by its usual names, which become the names of the stand-in.
write_static_pc() {
	cat >"$prefix/lib/pkgconfig/goudat-static.pc" <<'END'
prefix=${pcfiledir}/../..

Name: goudat-static
Description: uDAPL and rdma-core as one object, with the patches of goudat
Version: 2.1.10.1
Cflags: -I${prefix}/include -I${prefix}/lib/goudat/rdma-core/include -Ddlopen=dat_static_dlopen -Ddlsym=dat_static_dlsym -Ddlclose=dat_static_dlclose -Ddlerror=dat_static_dlerror -Ddladdr=dat_static_dladdr
Libs: ${prefix}/lib/goudat/static/goudat.o -lpthread
END
}
