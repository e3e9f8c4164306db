package main

import (
	"fmt"
	"strings"
)

const (
	timelinesWidth     = 920
	leftLine           = 345 // x of the left time line
	rightLine          = timelinesWidth - leftLine
	firstRow, rowSpace = 60, 26
	besideLine         = 14 // from a time line to its text
	stateWidth         = 230
	stateHeight        = 20
	textDrop           = 5 // from the middle of a row to the baseline of its text
)

// drawTimelines draws the events of two sides, from top to bottom.
func drawTimelines(sides string, lines []string) (string, error) {
	names := cells(sides)
	if len(names) != 2 {
		return "", fmt.Errorf("%q names no two sides", sides)
	}
	c := &canvas{width: timelinesWidth, height: firstRow + len(lines)*rowSpace + 20}
	c.text(leftLine, 28, "middle", ink, ` font-weight="bold"`, names[0])
	c.text(rightLine, 28, "middle", ink, ` font-weight="bold"`, names[1])
	for _, x := range []int{leftLine, rightLine} {
		c.line(x, 38, x, c.height-14, ` stroke-width="2" marker-end="url(#head)"`)
	}
	for i, line := range lines {
		y := firstRow + i*rowSpace
		if text, right := strings.CutPrefix(line, "-->"); right {
			c.arrow(leftLine, rightLine, y, text)
			continue
		}
		if text, left := strings.CutPrefix(line, "<--"); left {
			c.arrow(rightLine, leftLine, y, text)
			continue
		}
		parts := cells(line)
		if len(parts) != 2 {
			return "", fmt.Errorf("%q is neither an arrow nor what two sides do", line)
		}
		for side, what := range parts {
			if err := c.step(side, y, what); err != nil {
				return "", err
			}
		}
	}
	return c.svg(), nil
}

func (c *canvas) arrow(from, to, y int, text string) {
	head := 2
	if from > to {
		head = -2
	}
	c.line(from, y, to-head, y, ` marker-end="url(#head)"`)
	c.text(timelinesWidth/2, y-textDrop, "middle", faint, ` font-size="11"`, strings.TrimSpace(text))
}

// step draws what one side does: the left one is 0.
func (c *canvas) step(side, y int, what string) error {
	if what == "" {
		return nil
	}
	x, anchor, boxAt := leftLine-besideLine, "end", leftLine-besideLine-stateWidth
	if side == 1 {
		x, anchor, boxAt = rightLine+besideLine, "start", rightLine+besideLine
	}
	kind, text, _ := strings.Cut(what, " ")
	switch kind {
	case "call":
		c.text(x, y+textDrop, anchor, "#0550ae", ` font-family="monospace" font-size="12"`, text)
	case "event":
		c.text(x, y+textDrop, anchor, "#116329", ` font-size="12"`, text)
	case "note":
		c.text(x, y+textDrop, anchor, faint, ` font-size="12" font-style="italic"`, text)
	case "state":
		c.box(boxAt, y-stateHeight/2, stateWidth, stateHeight, "#f6f8fa")
		c.text(boxAt+stateWidth/2, y+textDrop-1, "middle", ink, ` font-size="12"`, text)
	default:
		return fmt.Errorf("%q is no call, event, note or state", what)
	}
	return nil
}
