package udat

import (
	"fmt"
	"log"
	"os"
	"sync"
)

var printLeaks bool // of adapters that the program drops

var badVariables = takeEnvironment(os.Getenv)

// complain is for the first Open: a program without adapters may have variables for another.
var complain = sync.OnceFunc(func() {
	for _, text := range badVariables {
		log.Print(text)
	}
})

func takeEnvironment(value func(string) string) (bad []string) {
	ignored := func(name, values string) {
		bad = append(bad, fmt.Sprintf("udat: the environment variable %s is %q, which does nothing: set it to %s, or leave it out", name, value(name), values))
	}
	switch value("UDAT_ASSERT") {
	case "":
	case "panic":
		SetAssertions(func(err error) { panic(err) })
	case "log":
		SetAssertions(func(err error) { log.Print(err) })
	default:
		ignored("UDAT_ASSERT", "panic or log")
	}
	switch value("UDAT_LEAKS") {
	case "":
	case "print":
		printLeaks = true
	default:
		ignored("UDAT_LEAKS", "print")
	}
	return bad
}
