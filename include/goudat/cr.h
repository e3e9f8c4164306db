/* Connection request calls. */
#ifndef GOUDAT_CR_H
#define GOUDAT_CR_H

#include "native.h"

static inline DAT_RETURN goudat_cr_query(goudat_handle cr, DAT_CR_PARAM_MASK mask, void *param)
{
	return dat_cr_query((DAT_CR_HANDLE)cr, mask, param);
}

static inline DAT_RETURN goudat_cr_accept(goudat_handle cr, goudat_handle ep,
					  DAT_COUNT private_data_size, const uint8_t *private_data)
{
	return dat_cr_accept((DAT_CR_HANDLE)cr, (DAT_EP_HANDLE)ep, private_data_size,
			     (DAT_PVOID)(uintptr_t)private_data);
}

static inline DAT_RETURN goudat_cr_reject(goudat_handle cr, DAT_COUNT private_data_size,
					  const uint8_t *private_data)
{
	return dat_cr_reject((DAT_CR_HANDLE)cr, private_data_size,
			     (DAT_PVOID)(uintptr_t)private_data);
}

static inline DAT_RETURN goudat_cr_handoff(goudat_handle cr, DAT_CONN_QUAL handoff)
{
	return dat_cr_handoff((DAT_CR_HANDLE)cr, handoff);
}

#endif
