package devicetest

import (
	"testing"

	"github.com/goudat/goudat/cgo"
)

func TestNotExported(t *testing.T) {
	_, cspCreate := cgo.CSPCreate(0, nil, nil, 0)
	_, rmrCreate := cgo.RMRCreateForEP(0)
	_, related := cgo.RegistryProvidersRelated("", "")
	for call, r := range map[string]cgo.Return{
		"CSPCreate":                cspCreate,
		"CSPQuery":                 cgo.CSPQuery(0, cgo.CSPFieldAll, nil),
		"CSPFree":                  cgo.CSPFree(0),
		"EPCommonConnect":          cgo.EPCommonConnect(0, nil, 0, nil),
		"EPPostRDMAReadToRMR":      cgo.EPPostRDMAReadToRMR(0, nil, 0, nil, 0),
		"EPPostSendWithInvalidate": cgo.EPPostSendWithInvalidate(0, nil, 0, 0, false, 0),
		"RMRCreateForEP":           rmrCreate,
		"RegistryProvidersRelated": related,
	} {
		outcome(t, call, r, cgo.NotImplemented, cgo.NoSubtype)
	}
}
