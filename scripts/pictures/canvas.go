package main

import (
	"fmt"
	"strings"
)

// A canvas collects the elements of a picture.
type canvas struct {
	strings.Builder
	width, height int
}

const (
	ink    = "#1f2328"
	faint  = "#656d76"
	border = "#8c959f"

	fontSize = 13
)

// text writes a line of text. anchor is start, middle or end; style has more attributes.
func (c *canvas) text(x, y int, anchor, color, style, text string) {
	fmt.Fprintf(c, `<text x="%d" y="%d" text-anchor="%s" fill="%s"%s>%s</text>`+"\n", x, y, anchor, color, style, escape(text))
}

func (c *canvas) box(x, y, width, height int, fill string) {
	fmt.Fprintf(c, `<rect x="%d" y="%d" width="%d" height="%d" rx="4" fill="%s" stroke="%s"/>`+"\n", x, y, width, height, fill, border)
}

func (c *canvas) line(x1, y1, x2, y2 int, style string) {
	fmt.Fprintf(c, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="%s"%s/>`+"\n", x1, y1, x2, y2, ink, style)
}

// svg returns the picture on white: the page may be dark.
func (c *canvas) svg() string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" height="%d" font-family="Helvetica, Arial, sans-serif" font-size="%d">
<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto-start-reverse"><path d="M0 0 10 5 0 10z" fill="%s"/></marker></defs>
<rect width="%[1]d" height="%[2]d" rx="6" fill="#ffffff"/>
%[5]s</svg>
`, c.width, c.height, fontSize, ink, c.String())
}

func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

// cells returns the parts of a line between bars.
func cells(line string) []string {
	parts := strings.Split(line, "|")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}
