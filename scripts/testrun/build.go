package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// builder builds test binaries in a folder.
type builder struct {
	folder    string
	test2json string // the program that reads the output of test binaries
	builds    int
}

func newBuilder(ctx context.Context, folder string) (*builder, error) {
	b := &builder{folder: folder, test2json: filepath.Join(folder, "test2json")}
	if err := goCommand(ctx, nil, "build", "-o", b.test2json, "cmd/test2json"); err != nil {
		return nil, errors.New("test2json, a part of Go, does not build, see above")
	}
	return b, nil
}

// build builds what a run needs. If it fails, it still returns the jobs of the packages that do build.
func (b *builder) build(ctx context.Context, r run) ([]job, error) {
	if r.fuzz {
		var jobs []job
		for _, p := range r.packages {
			jobs = append(jobs, job{run: r, pkg: p, shard: shard{of: 1}})
		}
		return jobs, nil
	}
	var jobs []job
	var failed error
	for _, batch := range batches(r.packages) {
		b.builds++
		folder := filepath.Join(b.folder, strconv.Itoa(b.builds))
		if err := os.Mkdir(folder, 0o700); err != nil {
			return nil, err
		}
		args := append([]string{"test", "-c", "-buildvcs=false", "-ldflags=-w", "-o", folder + "/"}, r.build...)
		for _, p := range batch {
			args = append(args, p.ImportPath)
		}
		if err := goCommand(ctx, r.environment, args...); err != nil {
			failed = errors.New("some tests do not build, see above")
		}
		for _, p := range batch {
			binary := filepath.Join(folder, path.Base(p.ImportPath)+".test")
			if _, err := os.Stat(binary); err != nil {
				failed = fmt.Errorf("the tests of %s do not build", short(p.ImportPath))
				continue
			}
			shards, err := r.deal(p)
			if err != nil {
				return jobs, err
			}
			for _, s := range shards {
				jobs = append(jobs, job{run: r, pkg: p, shard: s, binary: binary})
			}
		}
	}
	return jobs, failed
}

// deal distributes the tests of a package over the run's machines.
func (r run) deal(p testPackage) ([]shard, error) {
	tests, err := p.tests()
	if err != nil {
		return nil, err
	}
	if r.skip != "" && !strings.Contains(r.skip, "/") {
		skipped, err := regexp.Compile(r.skip)
		if err != nil {
			return nil, err
		}
		tests = slices.DeleteFunc(tests, skipped.MatchString)
	}
	shards := deal(tests, r.shards[p.ImportPath], r.skip)
	if r.skipParts != "" {
		for i := range shards {
			shards[i].skip = strings.TrimPrefix(shards[i].skip+"|"+r.skipParts, "|")
		}
	}
	return shards, nil
}

// batches divides packages so that no two of a batch have binaries of the same name.
func batches(packages []testPackage) (list [][]testPackage) {
	fits := func(batch []testPackage, p testPackage) bool {
		return !slices.ContainsFunc(batch, func(other testPackage) bool {
			return path.Base(other.ImportPath) == path.Base(p.ImportPath)
		})
	}
	for _, p := range packages {
		i := slices.IndexFunc(list, func(batch []testPackage) bool { return fits(batch, p) })
		if i < 0 {
			list = append(list, []testPackage{p})
		} else {
			list[i] = append(list[i], p)
		}
	}
	return list
}

func goCommand(ctx context.Context, environment []string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), environment...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stdout
	return cmd.Run()
}

// inCheckout returns the absolute path of a file of the checkout. The working folder is the checkout.
func inCheckout(file string) string {
	folder, err := os.Getwd()
	if err != nil {
		panic(err) // nothing works without it
	}
	return filepath.Join(folder, file)
}
