package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
)

// launch starts the launcher if the machines' init is not beside this program, as after "go install". The launcher
// builds the init, and runs the program again. launch returns nil if there is an init, and an error if there is no
// launcher.
func launch() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if _, err := os.Stat(initFile(self, amd64)); err == nil {
		return nil
	}
	folder, err := moduleFolder()
	if err != nil {
		return fmt.Errorf("the machine's init is not beside this program; start it with the script run of the test bed's module: %w", err)
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		return err
	}
	arguments := append([]string{"bash", filepath.Join(folder, "run")}, os.Args[1:]...)
	return fmt.Errorf("run %s: %w", arguments[1], syscall.Exec(bash, arguments, os.Environ()))
}

// initFile is the init of the machines, as built by the launcher.
func initFile(self string, arch *architecture) string {
	return filepath.Join(filepath.Dir(self), "guest-"+arch.name)
}

// moduleFolder returns the folder of the module that this program was built from: that which the caller's module uses,
// or else the published one, if the program has a version.
func moduleFolder() (string, error) {
	info, ok := debug.ReadBuildInfo()
	if ok {
		// Packages may be vendored, but not the launcher.
		cmd := exec.Command("go", "list", "-mod=readonly", "-m", "-f", "{{.Dir}}", info.Main.Path)
		cmd.Env = append(os.Environ(), "GOFLAGS=", "GO111MODULE=on")
		if folder, err := cmd.Output(); err == nil && len(folder) > 1 {
			return strings.TrimSpace(string(folder)), nil
		}
	}
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "", errors.New("this program was built from a module without a version")
	}
	cmd := exec.Command("go", "-C", "/", "mod", "download", "-json", info.Main.Path+"@"+info.Main.Version)
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "GO111MODULE=on")
	out, err := cmd.Output()
	var module struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(out, &module); module.Error != "" {
		return "", errors.New(module.Error)
	} else if err := errors.Join(err, jsonErr); err != nil {
		return "", fmt.Errorf("go mod download: %w", err)
	}
	return module.Dir, nil
}
