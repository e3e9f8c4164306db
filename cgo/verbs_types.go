package cgo

//go:generate env GOWORK=off go tool -modfile=../scripts/tools/go.mod stringer -linecomment -output=verbs_string.go -type=IBVTransportType,IBVPortState,IBVLinkLayer,IBVGIDType

// IBVTransportType names the transport of a device, enum ibv_transport_type.
type IBVTransportType int32

const (
	IBVTransportUnknown     IBVTransportType = -1 // IBV_TRANSPORT_UNKNOWN
	IBVTransportIB          IBVTransportType = 0  // IBV_TRANSPORT_IB
	IBVTransportIWARP       IBVTransportType = 1  // IBV_TRANSPORT_IWARP
	IBVTransportUSNIC       IBVTransportType = 2  // IBV_TRANSPORT_USNIC
	IBVTransportUSNICUDP    IBVTransportType = 3  // IBV_TRANSPORT_USNIC_UDP
	IBVTransportUnspecified IBVTransportType = 4  // IBV_TRANSPORT_UNSPECIFIED
)

// IBVPortState is the logical state of a port, enum ibv_port_state.
type IBVPortState uint32

const (
	IBVPortNop         IBVPortState = 0 // IBV_PORT_NOP
	IBVPortDown        IBVPortState = 1 // IBV_PORT_DOWN
	IBVPortInit        IBVPortState = 2 // IBV_PORT_INIT
	IBVPortArmed       IBVPortState = 3 // IBV_PORT_ARMED
	IBVPortActive      IBVPortState = 4 // IBV_PORT_ACTIVE
	IBVPortActiveDefer IBVPortState = 5 // IBV_PORT_ACTIVE_DEFER
)

// IBVLinkLayer names the link layer of a port, an unnamed enum of verbs.h.
type IBVLinkLayer uint8

const (
	IBVLinkLayerUnspecified IBVLinkLayer = 0 // IBV_LINK_LAYER_UNSPECIFIED
	IBVLinkLayerInfiniBand  IBVLinkLayer = 1 // IBV_LINK_LAYER_INFINIBAND
	IBVLinkLayerEthernet    IBVLinkLayer = 2 // IBV_LINK_LAYER_ETHERNET
)

// IBVGIDType says which protocol a GID belongs to, enum ibv_gid_type.
type IBVGIDType uint32

const (
	IBVGIDTypeIB     IBVGIDType = 0 // IBV_GID_TYPE_IB
	IBVGIDTypeRoCEv1 IBVGIDType = 1 // IBV_GID_TYPE_ROCE_V1
	IBVGIDTypeRoCEv2 IBVGIDType = 2 // IBV_GID_TYPE_ROCE_V2
)
