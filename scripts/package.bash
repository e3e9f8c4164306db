# Packages of a build over the system's rdma-core. Sourced by scripts/native, after "prefix" is set to the build. In a file of
# its own, as it changes nothing in the build.
# shellcheck shell=bash

package=goudat-dapl
staging=$(mktemp -d) || stop "cannot make a temporary folder"
chmod 755 -- "$staging"
# shellcheck disable=SC2154 # scripts/native sets work
trap 'rm -rf -- "$staging" "${work-}"' EXIT
package_summary="uDAPL (libdat2 and its providers) with the patches of goudat"
# The date of the latest patch, so that a version only grows; the checksum says which source it is.
package_release="$(sed -n 's/^Date: //p' "${checkout:?}"/scripts/dapl/patches/*.patch | date -u -f - +%Y%m%d%H%M | sort -n | tail -n 1)+$(native_recipe)"

# package_tree FOLDER LIBRARIES: puts the files of the package into a folder. There is no dat.conf: a Go program needs none,
# and one that is there stays.
package_tree() {
	local lib=$1$2
	mkdir -p -- "$lib/pkgconfig" "$1/usr/share/doc/$package"
	cp -a -- "${prefix:?}/bin" "$prefix/include" "$1/usr"
	cp -a -- "$prefix"/lib/*.so* "$lib"
	strip --strip-unneeded "$1"/usr/bin/* "$lib"/*.so || stop "the files of the package cannot be stripped, see above"
	cp -- "$prefix/etc/dat.conf" "$prefix/lib/goudat/versions" "$1/usr/share/doc/$package"
	sed -E "s|^prefix=.*|prefix=/usr|; s|^Libs:.*|Libs: $2/libdat2.so|" "$prefix/lib/pkgconfig/goudat.pc" >"$lib/pkgconfig/goudat.pc"
}

# make_deb makes a package for this Debian or Ubuntu, and for later ones.
make_deb() {
	local architecture name library depends="ibverbs-providers" file
	command -v dpkg-deb >/dev/null || stop "--deb needs dpkg-deb, as on Debian and Ubuntu"
	architecture=$(dpkg --print-architecture)
	package_tree "$staging" "/usr/lib/$("${CC:-gcc}" -print-multiarch)"
	for library in libc.so.6 libibverbs.so.1 librdmacm.so.1; do
		name=$(dpkg-query -S "*/$library" | grep -m 1 ":$architecture:") || stop "no package has $library"
		name=${name%%:*}
		depends+=", $name (>= $(dpkg-query -W -f '${source:Upstream-Version}' "$name:$architecture"))"
	done
	mkdir -- "$staging/DEBIAN"
	(cd -- "$staging" && find usr -type f -exec md5sum {} + >DEBIAN/md5sums)
	echo "activate-noawait ldconfig" >"$staging/DEBIAN/triggers"
	cat >"$staging/DEBIAN/control" <<END
Package: $package
Version: 2.1.10.1-$package_release
Architecture: $architecture
Section: libs
Priority: optional
Maintainer: goudat <https://github.com/goudat/goudat>
Depends: $depends
Recommends: gcc, libc6-dev, libibverbs-dev, pkg-config
Provides: libdapl2 (= 2.1.10.1), libdapl-dev (= 2.1.10.1), dapl2-utils (= 2.1.10.1)
Conflicts: libdapl2, libdapl-dev, dapl2-utils
Replaces: libdapl2, libdapl-dev, dapl2-utils
Description: $package_summary
 It takes the place of libdapl2, libdapl-dev and dapl2-utils. With the recommended packages, "go build" finds it by itself.
END
	file=${folder:?}/${package}_2.1.10.1-${package_release}_$architecture.deb
	dpkg-deb --root-owner-group --build "$staging" "$file" >/dev/null || stop "the package cannot be made, see above"
	say "$file is made: install it with apt-get install $file"
}

# make_rpm makes a package with rpmbuild. It was not installed on any Fedora or RHEL yet.
make_rpm() {
	command -v rpmbuild >/dev/null || stop "--rpm needs rpmbuild: install rpm-build, on Debian rpm"
	package_tree "$staging/tree" /usr/lib64
	cat >"$staging/package.spec" <<END
Name: $package
Version: 2.1.10.1
Release: $package_release
Summary: $package_summary
License: BSD-3-Clause OR GPL-2.0-only OR CPL-1.0
Requires: libibverbs, librdmacm
Recommends: gcc, rdma-core-devel, pkgconf-pkg-config
Provides: dapl = %{version}, dapl-devel = %{version}, dapl-utils = %{version}
Obsoletes: dapl <= %{version}, dapl-devel <= %{version}, dapl-utils <= %{version}
%description
It takes the place of dapl, dapl-devel and dapl-utils.
%install
cp -a -- "$staging/tree/." %{buildroot}
%files
/usr/bin/*
/usr/include/dat2
/usr/lib64/*
/usr/share/doc/$package
END
	rpmbuild -bb --define "_topdir $staging" --define "_rpmdir ${folder:?}" --define "_rpmfilename %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm" \
		--define "debug_package %{nil}" "$staging/package.spec" >"$staging/log" 2>&1 || {
		tail -n 20 -- "$staging/log" >&2
		stop "the package cannot be made, see above"
	}
	say "$(compgen -G "$folder/$package-2.1.10.1-$package_release.*.rpm") is made"
}
