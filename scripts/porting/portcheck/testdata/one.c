/* A program for uDAPL 1.x. Each comment "want" names the subjects of the warnings on its line. */
#include <dat/udat.h> /* want: 1.x */

int table(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EP_HANDLE ep, DAT_CR_HANDLE cr, char *memory)
{
	DAT_LMR_HANDLE lmr;
	DAT_RMR_HANDLE rmr;
	DAT_LMR_TRIPLET here;
	DAT_RMR_TRIPLET there;
	DAT_RMR_COOKIE bound;
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_CONTEXT local;
	DAT_RMR_CONTEXT remote;
	DAT_VLEN size;
	DAT_VADDR address;
	DAT_RETURN ret;

	region.for_va = memory;
	ret = dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, 4096, pz, DAT_MEM_PRIV_ALL_FLAG, &lmr, /* want: 1.x */
			     &local, &remote, &size, &address);
	here.pad = 0; /* want: 1.x */
	here.lmr_context = local;
	there.target_address = address; /* want: 1.x */
	bound.as_64 = 1;
	ret |= dat_rmr_bind(rmr, &here, DAT_MEM_PRIV_REMOTE_READ_FLAG, ep, bound, 0, &remote); /* want: 1.x */
	ret |= dat_cr_reject(cr); /* want: 1.x */
	ret |= dat_cr_reject(cr, 0, NULL);
	ret |= dat_ep_modify(ep, DAT_EP_FIELD_NOTHING, 0); /* want: 1.x */
	return send_all(&there, sizeof(there), sizeof(DAT_RMR_TRIPLET)) || ret == DAT_SUCCESS; /* want: wire */
}
