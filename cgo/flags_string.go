package cgo

import (
	"strconv"
	"strings"
)

type flagName struct {
	bit  uint64
	name string
}

// flagsString joins the names of the set bits; what is left over is a number.
func flagsString(value uint64, zero string, names []flagName) string {
	if value == 0 {
		return zero
	}
	var set []string
	for _, f := range names {
		if value&f.bit != 0 {
			set = append(set, f.name)
			value &^= f.bit
		}
	}
	if value != 0 {
		set = append(set, "0x"+strconv.FormatUint(value, 16))
	}
	return strings.Join(set, "|")
}

// String returns the C names of the set bits.
func (f CompletionFlags) String() string {
	return flagsString(uint64(f), "DAT_COMPLETION_DEFAULT_FLAG", []flagName{
		{uint64(CompletionSuppress), "DAT_COMPLETION_SUPPRESS_FLAG"},
		{uint64(CompletionSolicitedWait), "DAT_COMPLETION_SOLICITED_WAIT_FLAG"},
		{uint64(CompletionUnsignalled), "DAT_COMPLETION_UNSIGNALLED_FLAG"},
		{uint64(CompletionBarrierFence), "DAT_COMPLETION_BARRIER_FENCE_FLAG"},
		{uint64(CompletionEVDThreshold), "DAT_COMPLETION_EVD_THRESHOLD_FLAG"},
		{uint64(CompletionLMRInvalidateFence), "DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG"},
	})
}

// String returns the C names of the set bits.
func (f ConnectFlags) String() string {
	return flagsString(uint64(f), "DAT_CONNECT_DEFAULT_FLAG", []flagName{
		{uint64(ConnectMultipathRequested), "DAT_CONNECT_MULTIPATH_REQUESTED_FLAG"},
		{uint64(ConnectMultipathRequired), "DAT_CONNECT_MULTIPATH_REQUIRED_FLAG"},
	})
}

// String returns the C names of the set bits.
func (f EVDFlags) String() string {
	return flagsString(uint64(f), "0", []flagName{
		{uint64(EVDSoftware), "DAT_EVD_SOFTWARE_FLAG"},
		{uint64(EVDCR), "DAT_EVD_CR_FLAG"},
		{uint64(EVDDTO), "DAT_EVD_DTO_FLAG"},
		{uint64(EVDConnection), "DAT_EVD_CONNECTION_FLAG"},
		{uint64(EVDRMRBind), "DAT_EVD_RMR_BIND_FLAG"},
		{uint64(EVDAsync), "DAT_EVD_ASYNC_FLAG"},
		{uint64(EVDIBExtension), "DAT_IB_EVD_EXTENSION_FLAG"},
	})
}

// String returns the C names of the set bits.
func (s EVDState) String() string {
	return flagsString(uint64(s), "0", []flagName{
		{uint64(EVDStateEnabled), "DAT_EVD_STATE_ENABLED"},
		{uint64(EVDStateDisabled), "DAT_EVD_STATE_DISABLED"},
		{uint64(EVDStateWaitable), "DAT_EVD_STATE_WAITABLE"},
		{uint64(EVDStateUnwaitable), "DAT_EVD_STATE_UNWAITABLE"},
		{uint64(EVDStateConfigNotify), "DAT_EVD_STATE_CONFIG_NOTIFY"},
		{uint64(EVDStateConfigSolicited), "DAT_EVD_STATE_CONFIG_SOLICITED"},
	})
}

// String returns the C names of the set bits.
func (p MemPriv) String() string {
	return flagsString(uint64(p), "DAT_MEM_PRIV_NONE_FLAG", []flagName{
		{uint64(MemPrivLocalRead), "DAT_MEM_PRIV_LOCAL_READ_FLAG"},
		{uint64(MemPrivRemoteRead), "DAT_MEM_PRIV_REMOTE_READ_FLAG"},
		{uint64(MemPrivLocalWrite), "DAT_MEM_PRIV_LOCAL_WRITE_FLAG"},
		{uint64(MemPrivRemoteWrite), "DAT_MEM_PRIV_REMOTE_WRITE_FLAG"},
		{uint64(MemPrivIBRemoteAtomic), "DAT_IB_MEM_PRIV_REMOTE_ATOMIC"},
	})
}

// String returns the C name.
func (f PSPFlags) String() string {
	return flagsString(uint64(f), "DAT_PSP_CONSUMER_FLAG", []flagName{
		{uint64(PSPProvider), "DAT_PSP_PROVIDER_FLAG"},
	})
}
