// Command udatvet looks for mistakes in programs that use package udat. It is run by "go vet -vettool".
package main

import "golang.org/x/tools/go/analysis/unitchecker"

func main() { unitchecker.Main(analyzers...) }
