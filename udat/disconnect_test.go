package udat_test

import (
	"github.com/goudat/goudat/udat"
)

func one(s udat.Segment) []udat.Segment { return []udat.Segment{s} }
