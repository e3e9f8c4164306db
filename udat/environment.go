package udat

import (
	"fmt"
	"log"
	"os"
	"sync"
)

// printLeaks has adapters that are dropped printed.
var printLeaks bool

// badVariables are complaints about the environment, which the first Open writes: a program that
// uses no adapter may well have variables for another.
var badVariables = takeEnvironment(os.Getenv)

var complainOnce sync.Once

func takeEnvironment(value func(string) string) (bad []string) {
	complain := func(name, values string) {
		bad = append(bad, fmt.Sprintf("udat: the environment variable %s is %q, which does nothing: set it to %s, or leave it out", name, value(name), values))
	}
	switch value("UDAT_ASSERT") {
	case "":
	case "panic":
		SetAssertions(func(err error) { panic(err) })
	case "log":
		SetAssertions(func(err error) { log.Print(err) })
	default:
		complain("UDAT_ASSERT", "panic or log")
	}
	switch value("UDAT_LEAKS") {
	case "":
	case "print":
		printLeaks = true
	default:
		complain("UDAT_LEAKS", "print")
	}
	return bad
}

func complainOfVariables() {
	for _, text := range badVariables {
		log.Print(text)
	}
}
