package cgo

// HARelationship says whether two adapters share hardware, DAT_HA_RELATIONSHIP.
type HARelationship uint32

const (
	HAFalse         HARelationship = 0 // DAT_HA_FALSE
	HATrue          HARelationship = 1 // DAT_HA_TRUE
	HAUnknown       HARelationship = 2 // DAT_HA_UNKNOWN
	HAConflicting   HARelationship = 3 // DAT_HA_CONFLICTING
	HAExtensionBase HARelationship = 4 // DAT_HA_EXTENSION_BASE
)
