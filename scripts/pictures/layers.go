package main

import "fmt"

// groups are the colors of the layers, by origin.
var groups = map[string]string{"yours": "#fff8c5", "goudat": "#ddf4ff", "native": "#f6f8fa", "system": "#eaeef2"}

// drawLayers draws a box for each line: the name, what it is, and whose it is.
func drawLayers(lines []string) (string, error) {
	const (
		margin, gap     = 16, 6
		width, height   = 720, 34
		nameAt, aboutAt = 12, 210
		baseline        = 22
		whoseWidth      = 80
		boxWidth        = width - 2*margin - whoseWidth
	)
	c := &canvas{width: width, height: 2*margin + len(lines)*(height+gap) - gap}
	last := ""
	for i, line := range lines {
		parts := cells(line)
		if len(parts) != 3 {
			return "", fmt.Errorf("%q is not a name, what it is, and whose", line)
		}
		name, about, whose := parts[0], parts[1], parts[2]
		fill, known := groups[whose]
		if !known {
			return "", fmt.Errorf("%q belongs to nobody: the line says %q", name, whose)
		}
		y := margin + i*(height+gap)
		c.box(margin, y, boxWidth, height, fill)
		c.text(margin+nameAt, y+baseline, "start", ink, ` font-weight="bold"`, name)
		c.text(margin+aboutAt, y+baseline, "start", ink, "", about)
		if whose != last {
			c.text(width-margin, y+baseline, "end", faint, "", whose)
			last = whose
		}
	}
	return c.svg(), nil
}
