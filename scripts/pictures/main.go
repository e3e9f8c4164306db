// Command pictures draws the pictures of the documentation. For each text file in a folder it writes an SVG file beside
// it. The first line that is no comment names the kind of picture, "layers" or "timelines"; the existing files show the
// syntax.
package main

//go:generate go run . ../../docs/pictures

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: pictures FOLDER")
		os.Exit(2)
	}
	if err := drawAll(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

func drawAll(folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("%s has no texts", folder)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		svg, err := draw(string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if err := os.WriteFile(strings.TrimSuffix(file, ".txt")+".svg", []byte(svg), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// draw makes the picture that a text describes.
func draw(text string) (svg string, err error) {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return "", fmt.Errorf("the text is empty")
	}
	kind, rest, _ := strings.Cut(lines[0], " ")
	switch kind {
	case "layers":
		return drawLayers(lines[1:])
	case "timelines":
		return drawTimelines(rest, lines[1:])
	}
	return "", fmt.Errorf("%q is neither layers nor timelines", kind)
}
