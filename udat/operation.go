package udat

// operation is what a post does, as a native cookie tells it: the library leaves
// the operation of most completions unwritten.
type operation uint8

const (
	opSend operation = iota
	opRDMAWrite
	opRDMARead
	opReceive
	opRDMAWriteImmed
	opFetchAndAdd
	opCmpAndSwap
	opSharedReceive
	opReport // the binding's own, of which the program never hears: see report
)

// operationSet is a set of operations, a bit each.
type operationSet uint16

func (s operationSet) has(op operation) bool { return s>>op&1 != 0 }

// dto gives the operation's name in events.
func (op operation) dto() DTO {
	return [...]DTO{
		opSend:           DTOSend,
		opRDMAWrite:      DTORDMAWrite,
		opRDMARead:       DTORDMARead,
		opReceive:        DTOReceive,
		opRDMAWriteImmed: DTOIBRDMAWriteImmed,
		opFetchAndAdd:    DTOIBFetchAdd,
		opCmpAndSwap:     DTOIBCmpSwap,
		opSharedReceive:  DTOReceive,
		opReport:         DTORDMAWrite,
	}[op]
}
