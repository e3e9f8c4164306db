/* What the parser must get past, and what it can't. */
extern DAT_RETURN DAT_API wrapped(IN DAT_EP_HANDLE ep, OUT DAT_EP_PARAM *param);

/* dat_in_comment(1); */
static const char *text = "dat_in_string(2)";

#if DAT_VERSION_MAJOR > 1
int query(DAT_EP_HANDLE ep) { DAT_EP_PARAM param; return dat_ep_query(ep, DAT_EP_FIELD_ALL, &param); }
#else
int query(DAT_EP_HANDLE ep) { return dat_ep_reset(ep); }
#endif

#define CALL(name, object) dat_##name(object)
#define BLOCK { dat_ep_reset(ep);
#define HANDLE(e) ((e).event_data.cr_arrival_event_data.cr_handle)

int broken(DAT_EP_HANDLE ep)
{
	int x = = dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG);
	return dat_ep_no_such(ep) + dat_srq_set_lw(ep, 4) + dat_csp_create(ep);
}
