package main

import "fmt"

// firstScaleQual is the connection qualifier of the first run. Each run has its own.
const firstScaleQual = 8000

// measureScale runs the programs with the same numbers of endpoints and of waiters.
func (s settings) measureScale(adapters []string) error {
	endpoints, waiters, messages := []int{1, 16, 256, 1024}, []int{100, 10000}, 1<<17 // they take seconds: an interruption counts little
	if s.few {
		endpoints, waiters, messages = []int{4}, []int{100}, 16
	}
	qual := firstScaleQual
	for _, adapter := range adapters {
		for _, count := range waiters {
			for _, evds := range []int{count, count / 100} {
				title := fmt.Sprintf("Wake/waiters=%d/evds=%d/ia=%s", count, evds, adapter)
				err := s.byTurns(title, 1, func(inGo bool) (string, error) {
					if !inGo && evds < count { // in C one thread may wait on each
						return "", nil
					}
					program, err := start(0, s.named(inGo), "waiters", adapter, fmt.Sprint(count), fmt.Sprint(evds))
					if err != nil {
						return "", err
					}
					defer program.kill()
					return program.expect("result")
				})
				if err != nil {
					return err
				}
			}
		}
		for _, count := range endpoints {
			for _, evds := range []string{"shared", "own"} {
				title := fmt.Sprintf("Endpoints/evds=%s/count=%d/ia=%s", evds, count, adapter)
				err := s.byTurns(title, count, func(inGo bool) (string, error) {
					qual++
					p, err := startPair(s.named(inGo), adapter, fmt.Sprint(qual), fmt.Sprint(count), evds, fmt.Sprint(max(messages/count/2, 2)))
					if err != nil {
						return "", err
					}
					defer p.kill()
					go p.server.expect("result") // the same as the client's, from the other side
					return p.client.expect("result")
				})
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (p programs) named(inGo bool) string {
	if inGo {
		return p.golang
	}
	return p.c
}
