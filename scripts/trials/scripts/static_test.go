//go:build linux && amd64

package scripts

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Two programs of one file run where nothing else is but the devices and what the kernel shows: pingpong, without any library,
// over each provider, by the name of a device and by entries of dat.conf, and udatinfo, with libc, which says where the libraries are.
func TestStaticPrograms(t *testing.T) {
	if exec.Command("pkg-config", "--exists", "goudat-static").Run() != nil && os.Getenv("GOUDAT_TEST_LONG") == "" {
		t.Skip("may build rdma-core, for minutes: run scripts/native --static, or set GOUDAT_TEST_LONG=1")
	}
	folder := t.TempDir()
	static(t, folder, "scripts/native --static")
	for _, build := range []string{
		"go build -buildvcs=false -tags goudat_static,netgo,osusergo -ldflags '-s -w -linkmode=external -extldflags=-static' -o $1/pingpong ./examples/pingpong",
		"go build -buildvcs=false -tags goudat_static -o $1/udatinfo ./examples/udatinfo",
	} {
		static(t, folder, build)
	}
	for program, want := range map[string][]string{"pingpong": nil, "udatinfo": {"ld-linux-x86-64.so.2", "libc.so.6"}} {
		file, err := elf.Open(filepath.Join(folder, program))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		libraries, err := file.ImportedLibraries()
		if slices.Sort(libraries); err != nil || !slices.Equal(libraries, want) {
			t.Errorf("%s needs the libraries %q (%v), want %q", program, libraries, err, want)
		}
	}
	info, err := os.Stat(filepath.Join(folder, "pingpong"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("pingpong has %.1f MB", float64(info.Size())/1e6)

	script := filepath.Join(folder, "script")
	write(t, script, `set -eu
folder=$1
root=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; umount -l "$root/dev" "$root/sys"' EXIT
mkdir "$root/dev" "$root/sys"
mount --rbind /dev "$root/dev"
mount --rbind /sys "$root/sys"
cp "$folder/pingpong" "$root"
exchange() {
	exec 3< <(chroot "$root" /pingpong -provider "$1" -server)
	server=$!
	read -r listening <&3
	echo "$listening"
	chroot "$root" /pingpong -provider "$1" -connect "$UDAT_TEST_ADDR"
	cat <&3
	wait "$server"
	echo "exchanged over $1"
}
config=$DAT_OVERRIDE
unset DAT_OVERRIDE
device=${UDAT_TEST_IA%%,*}
exchange "cma:$UDAT_TEST_ADDR"
[[ $UDAT_TEST_IA != *scm* ]] || exchange "scm:${device#ofa-v2-cma-}"
ls -A "$root"
cp "$config" "$root/dat.conf"
export DAT_OVERRIDE=/dat.conf
for name in ${UDAT_TEST_IA//,/ }; do
	exchange "$name"
done
echo 'other u2.0 nonthreadsafe default libother.so dapl.2.0 "lo 0" ""' >"$root/dat.conf"
! chroot "$root" /pingpong -provider other -server 2>&1 || exit 1
rm "$root"/*.conf "$root/pingpong"
unset DAT_OVERRIDE
cp --parents -L $(ldd "$folder/udatinfo" | grep -o '/[^ ]*') "$root"
cp "$folder/udatinfo" "$root"
chroot "$root" /udatinfo "cma:$UDAT_TEST_ADDR"
`)
	command := exec.Command("./with-device", "bash", script, folder)
	command.Env = append(os.Environ(), "LD_LIBRARY_PATH=")
	output, err := command.CombinedOutput()
	t.Logf("the output:\n%s", output)
	if err != nil {
		t.Fatal(err)
	}
	text := string(output)
	for _, words := range []string{"exchanged over cma:", "exchanged over ofa-v2-cma-", "dev\npingpong\nsys\n", "libother.so: this program loads no libraries, and has libdaplofa.so.2"} {
		if !strings.Contains(text, words) {
			t.Errorf("the output does not have %q", words)
		}
	}
	for _, line := range []string{`libdat2 +2\.1\.10, revision [1-9]\d* +/udatinfo`, `libibverbs +1\.14\.56\.1 +/udatinfo`, `librdmacm +1\.3\.56\.1 +/udatinfo`} {
		if !regexp.MustCompile(line).MatchString(text) {
			t.Errorf("udatinfo does not print %s", line)
		}
	}
}

// The Go dtest as one file, in a root with nothing else but dat.conf, the devices and what the kernel shows, talks to the C
// program in both roles.
func TestStaticInterop(t *testing.T) {
	if os.Getenv("GOUDAT_TEST_LONG") == "" {
		t.Skip("takes minutes: set GOUDAT_TEST_LONG=1")
	}
	folder := t.TempDir()
	static(t, folder, "scripts/native --static")
	write(t, filepath.Join(folder, "script"), `set -eu
root=$(mktemp -d)
export PAIRING_ROOT=$root
trap 'umount -l "$root/dev" "$root/sys"' EXIT
mkdir "$root/dev" "$root/sys"
mount --rbind /dev "$root/dev"
mount --rbind /sys "$root/sys"
cp --parents "$DAT_OVERRIDE" "$root"
cp "$1" "$root/program"
"$@"
`)
	static(t, folder, `GOFLAGS=-tags=goudat_static,netgo,osusergo go test -C examples/interop -count=1 -ldflags '-linkmode=external -extldflags=-static' `+
		`-exec "$PWD/scripts/with-device bash $1/script" -v -run '^Test(GoClientWithCServer|CClientWithGoServer)$' ./dtest`)
}

// static runs a command in the checkout, with the environment of the build that --static has extended.
func static(t *testing.T, folder, command string) {
	t.Helper()
	shell(t, `build=$(native_build release)
[[ ! -e $build/env ]] || . "$build/env"
`+command, folder)
}
