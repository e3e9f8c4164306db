package main

import (
	"context"
	"regexp"
	"strings"
	"time"
)

// soakLine matches the line in which the soak reports what it did, and what the process holds.
var soakLine = regexp.MustCompile(`(?m)^\s*run_test\.go:\d+: (.*)$`)

// soak keeps connections busy and breaks them.
func (r *report) soak(ctx context.Context, p *progress, a adapter) outcome {
	during := 15 * time.Second
	if r.quick {
		during = time.Second
	}
	p.say("connections are made, kept busy and ended at random moments")
	cmd, err := r.command(nil, "soak.test", "-test.v", "-test.run", "^TestLoad$", "-soak.load", during.String())
	if err != nil {
		return outcome{summary: "not run: " + err.Error(), failed: true}
	}
	cmd.Dir = r.work
	cmd.Env = append(cmd.Env, "UDAT_TEST_IA="+a.Name)
	process, err := start(ctx, cmd)
	if err != nil {
		return outcome{summary: "not run: " + err.Error(), failed: true}
	}
	err = process.wait(ctx)
	var found []string
	for _, m := range soakLine.FindAllStringSubmatch(process.said(), -1) {
		found = append(found, m[1])
	}
	if err != nil {
		r.detail("Connections under load over "+a.Provider, process.said())
		return outcome{summary: "failed: " + err.Error(), failed: true}
	}
	return outcome{summary: "passed", text: r.clean.text(strings.Join(found, "; ")) + "\n"}
}
