package main

import (
	"encoding/json"
	"io"
)

// jsonReporter writes one array of all results.
type jsonReporter struct {
	w       io.Writer
	results []result
}

func (j *jsonReporter) add(r result) error {
	j.results = append(j.results, r.rounded())
	return nil
}

func (j *jsonReporter) finish() error {
	encoder := json.NewEncoder(j.w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(j.results)
}
