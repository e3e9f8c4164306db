package main

import "github.com/goudat/goudat/udat"

// The lengths of event dispatchers are the C program's.
const (
	serverQueue = 32
	clientQueue = 8
	testQueue   = 8
)

// completionQueue is the length of an event dispatcher for the completions of an
// endpoint, of which so many can be outstanding. The C program's length is less
// than that: it posts less than the attributes allow.
func completionQueue(length, outstanding int) int { return max(length, outstanding) }

// defaultEPAttr are the attributes of the endpoints that are made without any.
func defaultEPAttr(ia *udat.IA) (udat.EPAttr, error) {
	pz, err := udat.CreatePZ(ia)
	if err != nil {
		return udat.EPAttr{}, err
	}
	evd, err := udat.CreateEVD(ia, 64, udat.EVDDTO)
	if err != nil {
		return udat.EPAttr{}, err
	}
	ep, err := udat.CreateEP(ia, pz, evd, evd, nil, nil)
	if err != nil {
		return udat.EPAttr{}, err
	}
	param, err := ep.Query()
	if err != nil {
		return udat.EPAttr{}, err
	}
	return param.Attr, free(ep, evd, pz)
}
