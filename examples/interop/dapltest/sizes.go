package main

import (
	"errors"

	"github.com/goudat/goudat/udat"
)

// The lengths of event dispatchers are those of the C program.
const (
	serverQueue = 32
	clientQueue = 8
	testQueue   = 8
)

// defaultEPAttr returns the default attributes of an endpoint.
func defaultEPAttr(ia *udat.IA) (attr udat.EPAttr, err error) {
	var pz *udat.PZ
	var evd *udat.EVD
	var ep *udat.EP
	defer func() { err = errors.Join(err, free(ep, evd, pz)) }()
	if pz, err = udat.CreatePZ(ia); err != nil {
		return attr, err
	}
	if evd, err = udat.CreateEVD(ia, 64, udat.EVDDTO); err != nil {
		return attr, err
	}
	if ep, err = udat.CreateEP(ia, pz, evd, evd, nil, nil); err != nil {
		return attr, err
	}
	param, err := ep.Query()
	return param.Attr, err
}
