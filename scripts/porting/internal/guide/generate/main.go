// Command generate writes the tables of package guide. Run it by go generate, in that package's folder.
package main

import (
	"log"
	"os"

	"github.com/goudat/goudat/scripts/porting/internal/guide"
)

func main() {
	log.SetFlags(0)
	table, err := os.ReadFile("../../../../docs/reference/porting-table.md")
	if err != nil {
		log.Fatal(err)
	}
	page, err := os.ReadFile("../../../../docs/porting.md")
	if err != nil {
		log.Fatal(err)
	}
	text, err := guide.FromPages(string(table), string(page))
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile("guide.tsv", []byte(text), 0o644); err != nil {
		log.Fatal(err)
	}
}
