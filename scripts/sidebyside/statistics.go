package main

import "slices"

// summary describes numbers, at least one.
type summary struct {
	median    float64
	low, high float64 // the quartiles: half of the numbers lie between them
}

func summarize(values []float64) summary {
	sorted := slices.Sorted(slices.Values(values))
	return summary{quantile(sorted, 0.5), quantile(sorted, 0.25), quantile(sorted, 0.75)}
}

// quantile interpolates between the two numbers next to the fraction's position.
func quantile(sorted []float64, fraction float64) float64 {
	place := fraction * float64(len(sorted)-1)
	below := int(place)
	if below == len(sorted)-1 {
		return sorted[below]
	}
	return sorted[below] + (place-float64(below))*(sorted[below+1]-sorted[below])
}

// mean returns the mean of numbers as their only one, and none of none.
func mean(values []float64) []float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return slices.Repeat([]float64{sum / float64(len(values))}, min(len(values), 1))
}

// ratios compares round by round: a disturbance of the machine affects both halves of a round.
func ratios(goValues, cValues []float64) []float64 {
	list := make([]float64, len(goValues))
	for i := range list {
		list[i] = goValues[i] / cValues[i]
	}
	return list
}

// ratio summarizes the ratios of Go to C.
func (r result) ratio() summary { return summarize(ratios(r.Go, r.C)) }
