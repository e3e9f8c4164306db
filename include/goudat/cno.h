/* Consumer notification object calls. */
#ifndef GOUDAT_CNO_H
#define GOUDAT_CNO_H

#include "native.h"

/* The unpatched library lacks these two. */
#pragma weak dat_cno_fd_create
#pragma weak dat_cno_trigger

static inline DAT_OS_WAIT_PROXY_AGENT goudat_wait_proxy_agent(uintptr_t instance, uintptr_t func)
{
	DAT_OS_WAIT_PROXY_AGENT agent = {
		.instance_data = (DAT_PVOID)instance,
		.proxy_agent_func = (DAT_AGENT_FUNC)func,
	};

	return agent;
}

static inline DAT_RETURN goudat_cno_create(goudat_handle ia, uintptr_t agent_instance,
					   uintptr_t agent_func, goudat_handle *cno)
{
	DAT_CNO_HANDLE handle = DAT_HANDLE_NULL;
	DAT_RETURN ret = dat_cno_create((DAT_IA_HANDLE)ia,
					goudat_wait_proxy_agent(agent_instance, agent_func), &handle);

	*cno = (goudat_handle)handle;
	return ret;
}

static inline DAT_RETURN goudat_cno_free(goudat_handle cno)
{
	return dat_cno_free((DAT_CNO_HANDLE)cno);
}

static inline DAT_RETURN goudat_cno_modify_agent(goudat_handle cno, uintptr_t agent_instance,
						 uintptr_t agent_func)
{
	return dat_cno_modify_agent((DAT_CNO_HANDLE)cno,
				    goudat_wait_proxy_agent(agent_instance, agent_func));
}

static inline DAT_RETURN goudat_cno_query(goudat_handle cno, DAT_CNO_PARAM_MASK mask, void *param)
{
	return dat_cno_query((DAT_CNO_HANDLE)cno, mask, param);
}

static inline DAT_RETURN goudat_cno_wait(goudat_handle cno, DAT_TIMEOUT timeout, goudat_handle *evd)
{
	DAT_EVD_HANDLE handle = DAT_HANDLE_NULL;
	DAT_RETURN ret = dat_cno_wait((DAT_CNO_HANDLE)cno, timeout, &handle);

	*evd = (goudat_handle)handle;
	return ret;
}

static inline DAT_RETURN goudat_cno_fd_create(goudat_handle ia, DAT_FD *fd, goudat_handle *cno)
{
	DAT_CNO_HANDLE handle = DAT_HANDLE_NULL;
	DAT_RETURN ret = DAT_CLASS_ERROR | DAT_MODEL_NOT_SUPPORTED;

	if (dat_cno_fd_create != NULL)
		ret = dat_cno_fd_create((DAT_IA_HANDLE)ia, fd, &handle);
	*cno = (goudat_handle)handle;
	return ret;
}

static inline DAT_RETURN goudat_cno_trigger(goudat_handle cno, goudat_handle *evd)
{
	DAT_EVD_HANDLE handle = DAT_HANDLE_NULL;
	DAT_RETURN ret = DAT_CLASS_ERROR | DAT_MODEL_NOT_SUPPORTED;

	if (dat_cno_trigger != NULL)
		ret = dat_cno_trigger((DAT_CNO_HANDLE)cno, &handle);
	*evd = (goudat_handle)handle;
	return ret;
}

#endif
