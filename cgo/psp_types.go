package cgo

// PSPFlags say who creates the endpoint for a connection request, DAT_PSP_FLAGS.
type PSPFlags uint32

const (
	PSPConsumer PSPFlags = 0x00 // DAT_PSP_CONSUMER_FLAG
	PSPProvider PSPFlags = 0x01 // DAT_PSP_PROVIDER_FLAG
)
