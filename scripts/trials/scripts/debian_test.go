//go:build linux && amd64

package scripts

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The ways to deploy of docs/native.md, and the README's lines for Debian, in bare systems. Programs run over the device of the
// test bed. The program of one file is that of TestStaticPrograms.
func TestDebian(t *testing.T) {
	if os.Getenv("GOUDAT_TEST_LONG") == "" {
		t.Skip("may build dapl, and installs two systems, for minutes: set GOUDAT_TEST_LONG=1")
	}
	if _, err := exec.LookPath("mmdebstrap"); err != nil || os.Getuid() != 0 {
		t.Skip("needs root and mmdebstrap")
	}
	folder := t.TempDir()
	output := shell(t, `scripts/native --deb
scripts/native --rdma-core system
build=$(native_build release-system)
echo "prefix $build"
. "$build/env"
go build -buildvcs=false -o "$1/program" ./examples/pingpong`, folder)
	made, prefix := regexp.MustCompile(`\S+\.deb`).FindAllString(output, -1), regexp.MustCompile(`(?m)^prefix (.*)$`).FindStringSubmatch(output)
	if len(made) != 2 || prefix == nil {
		t.Fatalf("no two packages are made:\n%s", output)
	}
	shell(t, `need_native_stack
go build -buildvcs=false -o "$1/program-of-folder" ./examples/pingpong
realpath -- "$(pkg-config --variable=prefix goudat)" >"$1/native"`, folder)
	native, err := os.ReadFile(filepath.Join(folder, "native"))
	if err != nil {
		t.Fatal(err)
	}
	inImage := regexp.MustCompile(`(?m)^    RUN (.*)$`).FindStringSubmatch(readFile(t, "docs/native.md"))
	if inImage == nil {
		t.Fatal("docs/native.md has no RUN")
	}
	const missing = "error while loading shared libraries: libdat2.so.2"
	if !strings.Contains(readFile(t, "docs/troubleshooting.md"), missing) {
		t.Errorf("docs/troubleshooting.md does not have %q", missing)
	}
	lines := strings.Split(strings.TrimSpace(readme(t, "bash")[0]), "\n")
	if len(lines) != 3 || lines[1] != "goudat/scripts/native --deb" {
		t.Fatalf("the README's lines for Debian are %q", lines)
	}
	for suite, packages := range map[string]string{"bookworm": "libdapl-dev dapl2-utils", "trixie": ""} {
		t.Run(suite, func(t *testing.T) {
			root := filepath.Join(folder, suite)
			shell(t, `unshare --mount mmdebstrap --quiet --variant=apt "$1" "$2" ${GOUDAT_DEBIAN_MIRROR:+"deb $GOUDAT_DEBIAN_MIRROR $1 main"}
cp /etc/resolv.conf /etc/hosts "$2/etc"
cp "$3" "$4" "$2/tmp"
cp "$5/program" "$5/program-of-folder" "$2"`, suite, root, made[0], made[1], folder)
			runs := func(program string) {
				t.Helper()
				if text := inRoot(t, root, "./with-device", program+` -provider "$PROVIDERS" -disconnect graceful -count 10`); !strings.Contains(text, "every byte was right") {
					t.Errorf("%s:\n%s", program, text)
				}
			}
			// The package.
			inRoot(t, root, "env", inImage[1])
			runs("/program")
			inRoot(t, root, "env", "apt-get purge -qy goudat-dapl")
			if text := inRoot(t, root, "env", "/program 2>&1 || true"); !strings.Contains(text, missing) {
				t.Errorf("without the package, the program prints\n%s", text)
			}
			// The prefix.
			shell(t, `cp -a "$2"/lib/libdat2* "$2"/lib/libdaplo* "$1/usr/local/lib"`, root, prefix[1])
			inRoot(t, root, "env", "ldconfig; apt-get install -qy --no-install-recommends ibverbs-providers librdmacm1")
			runs("/program")
			// The folder.
			inRoot(t, root, "env", "apt-get purge -qy ibverbs-providers libibverbs1 librdmacm1; apt-get install -qy libnl-3-200 libnl-route-3-200")
			shell(t, `rm "$1"/usr/local/lib/*.so*
mkdir -p "$1$2"
cp -a "$2/." "$1$2"`, root, strings.TrimSpace(string(native)))
			runs("/program-of-folder")
			// The README.
			shell(t, `rm -r "$1$2"
mkdir -p "$1/root/.local/share/goudat"
cp "$3" "$4" "$1/root/.local/share/goudat"`, root, strings.TrimSpace(string(native)), made[0], made[1])
			text := inRoot(t, root, "env", "apt-get update -q; apt-get install -qy --no-install-recommends libc6 "+packages+"\nyes | "+lines[0]+"\nyes | "+lines[2]+`
gcc -o /native -x c - -x none $(pkg-config --cflags --libs goudat) <<END
#include <dat2/udat.h>
#include <dlfcn.h>
#include <stdio.h>
int main(void) {
	DAT_COUNT n = 0;
	dat_registry_list_providers(0, &n, NULL);
	puts(dlopen("libdaplofa.so.2", RTLD_NOW) && dlopen("libdaploscm.so.2", RTLD_NOW) ? "both providers" : dlerror());
}
END
/native
dpkg --verify goudat-dapl goudat-dapl-dev
dpkg-query -W -f '${Package} ${db:Status-Status}\n' 'libdapl*' 'dapl2*' || true`)
			if !strings.Contains(text, "both providers\n") || regexp.MustCompile(`(?m)^(lib)?dapl\S* installed`).MatchString(text) {
				t.Errorf("after the README's lines:\n%s", text)
			}
		})
	}
}

// inRoot runs commands in the system in a folder, with the kernel's files, and returns what they print. runner is a program that
// runs another one, such as ./with-device, with which PROVIDERS has the names of both adapters.
func inRoot(t *testing.T, root, runner, commands string) string {
	t.Helper()
	cmd := exec.Command(runner, "unshare", "--mount", "bash", "-euc", `for folder in dev proc sys; do
	mount --rbind "/$folder" "$1/$folder"
done
device=${UDAT_TEST_IA-}
device=${device%%,*}
exec chroot "$1" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive DAT_DBG_TYPE=0 \
	${DAPL_SCM_NETDEV:+"DAPL_SCM_NETDEV=$DAPL_SCM_NETDEV"} PROVIDERS="cma:${UDAT_TEST_ADDR-},scm:${device#ofa-v2-cma-}" bash -euc "$2"`, "bash", root, commands)
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", commands, err, output[max(0, len(output)-4000):])
	}
	return string(output)
}

// shell runs a script in the checkout, with the functions of setup.bash.
func shell(t *testing.T, script string, arguments ...string) string {
	t.Helper()
	cmd := exec.Command("bash", append([]string{"-euc", "program=test checkout=$PWD\n. scripts/setup.bash\n" + script, "bash"}, arguments...)...)
	cmd.Dir = ".."
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, output)
	}
	return string(output)
}
