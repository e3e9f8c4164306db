// Package messagesizes parses lists of message sizes.
package messagesizes

import (
	"fmt"
	"strconv"
	"strings"
)

// Parse parses a comma-separated list of at most count sizes, each from least to most bytes.
func Parse(list string, least, most, count int) ([]int, error) {
	var sizes []int
	for field := range strings.SplitSeq(list, ",") {
		size, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil || size < least || size > most {
			return nil, fmt.Errorf("%q is not a number from %d to %d", field, least, most)
		}
		sizes = append(sizes, size)
	}
	if len(sizes) > count {
		return nil, fmt.Errorf("at most %d sizes", count)
	}
	return sizes, nil
}
