package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const header = `
/* A comment with a prototype: extern DAT_RETURN DAT_API dat_not_this ( IN DAT_HANDLE ); */
#ifndef HEADER
#define HEADER
typedef DAT_RETURN (DAT_API *DAT_X_FUNC) ( IN DAT_X_HANDLE );

extern DAT_RETURN DAT_API dat_x_create (
	IN      DAT_IA_HANDLE,		/* ia_handle, and a comma */
	IN      const DAT_X_ATTR *,	// attr
	OUT     DAT_X_HANDLE * );	/* x_handle */

extern  DAT_RETURN dat_x_free(IN DAT_X_HANDLE x_handle);
extern DAT_RETURN DAT_API dat_x_list (
	IN      DAT_COUNT,
	OUT     DAT_X_INFO *(dat_x_list[]) );
extern DAT_RETURN DAT_API dat_x_op( IN DAT_HANDLE, IN ... );

static __inline__ DAT_RETURN DAT_API
dat_x_text ( IN unsigned int value, OUT const char **message )
{
	return(dat_x_list(value, message));
}

#define dat_ib_x_open(name, x) dat_x_create((name), NULL, (x))
#define dat_ib_x_post(ep, size, cookie, flgs) \
	dat_x_op(\
		IN (DAT_EP_HANDLE) (ep), \
		IN (DAT_IB_OP) DAT_IB_X_OP, \
		IN (DAT_LMR_TRIPLET *) size, \
		IN (cookie), \
		OUT (DAT_FLAGS) (flgs))
#define dat_ib_x_broken(a, b) dat_x_op( IN (DAT_HANDLE) (a), IN (DAT_U) (c)
#define dat_ib_x_alias	dat_x_free
#define dat_ib_x_number 7
#define dat_ib_x_expression(a) ((a) + 1)
#endif
`

func TestParseHeader(t *testing.T) {
	prototypes, macros := parseHeader(header)
	want := []prototype{
		{name: "dat_x_create", params: []param{{"IN", "DAT_IA_HANDLE"}, {"IN", "const DAT_X_ATTR *"}, {"OUT", "DAT_X_HANDLE *"}}},
		{name: "dat_x_free", params: []param{{"IN", "DAT_X_HANDLE"}}},
		{name: "dat_x_list", params: []param{{"IN", "DAT_COUNT"}, {"OUT", "DAT_X_INFO * ( [ ] )"}}},
		{name: "dat_x_op", params: []param{{"IN", "DAT_HANDLE"}, {"IN", "..."}}},
		{name: "dat_x_text", params: []param{{"IN", "unsigned int"}, {"OUT", "const char * *"}}, inline: true},
	}
	if diff := cmp.Diff(want, prototypes, cmp.AllowUnexported(prototype{}, param{})); diff != "" {
		t.Errorf("prototypes (-want +got):\n%s", diff)
	}

	callees := map[string]prototype{}
	for _, p := range prototypes {
		callees[p.name] = p
	}
	var expanded []prototype
	for _, m := range macros {
		expanded = append(expanded, m.prototype(callees[m.callee]))
	}
	want = []prototype{
		{name: "dat_ib_x_open", params: []param{{"IN", "DAT_IA_HANDLE"}, {"OUT", "DAT_X_HANDLE *"}}},
		{name: "dat_ib_x_post", params: []param{{"IN", "DAT_EP_HANDLE"}, {"IN", "DAT_LMR_TRIPLET *"}, {"IN", ""}, {"OUT", "DAT_FLAGS"}}},
		{name: "dat_ib_x_broken", params: []param{{"IN", "DAT_HANDLE"}, {}}},
		{name: "dat_ib_x_alias", params: []param{{"IN", "DAT_X_HANDLE"}}},
	}
	// A number is not a name, and this expression is not a call.
	if diff := cmp.Diff(want, expanded, cmp.AllowUnexported(prototype{}, param{})); diff != "" {
		t.Errorf("macros (-want +got):\n%s", diff)
	}
}

func TestPrototypeDifference(t *testing.T) {
	parse := func(text string) prototype {
		t.Helper()
		all := parsePrototypes(text)
		if len(all) != 1 {
			t.Fatalf("%q has %d prototypes", text, len(all))
		}
		return all[0]
	}
	of := parse("DAT_RETURN dat_x(IN DAT_EP_HANDLE, IN const DAT_PVOID, OUT DAT_COUNT *)")
	for _, test := range []struct{ text, want string }{
		{"DAT_RETURN dat_x(IN DAT_EP_HANDLE ep, IN const DAT_PVOID data, OUT DAT_COUNT *count)", ""},
		{"DAT_RETURN dat_x(...), see Other", ""},
		{"DAT_RETURN dat_x(IN DAT_EP_HANDLE ep, OUT DAT_COUNT *count)", "has 2 parameters, the header has 3"},
		{"DAT_RETURN dat_x(IN DAT_PZ_HANDLE ep, IN const DAT_PVOID data, OUT DAT_COUNT *count)",
			"parameter 1 is IN DAT_PZ_HANDLE, the header has IN DAT_EP_HANDLE"},
		{"DAT_RETURN dat_x(IN DAT_EP_HANDLE ep, IN DAT_PVOID data, OUT DAT_COUNT *count)",
			"parameter 2 is IN DAT_PVOID, the header has IN const DAT_PVOID"},
		{"DAT_RETURN dat_x(IN DAT_EP_HANDLE ep, IN const DAT_PVOID data, INOUT DAT_COUNT *count)",
			"parameter 3 is INOUT DAT_COUNT *, the header has OUT DAT_COUNT *"},
		{"DAT_RETURN dat_x(IN DAT_EP_HANDLE ep, IN const DAT_PVOID data, OUT DAT_COUNT count)",
			"parameter 3 is OUT DAT_COUNT, the header has OUT DAT_COUNT *"},
	} {
		if got := parse(test.text).difference(of); got != test.want {
			t.Errorf("%s: %q, want %q", test.text, got, test.want)
		}
	}
	unknown := prototype{name: "dat_x", params: []param{{}, {"IN", ""}}}
	if got := parse("DAT_RETURN dat_x(OUT DAT_A *a, IN DAT_B b)").difference(unknown); got != "" {
		t.Errorf("compared with unknown types: %q", got)
	}
}
