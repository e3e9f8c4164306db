package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const preprocessed = `
# 1 "/usr/include/stdint.h" 1 3
typedef int DAT_NOT_THIS;
#define DAT_NOR_THIS 1
# 1 "/usr/include/dat2/udat.h" 1
#define _UDAT_H_
#define DAT_API
#define DAT_NUMBER 0x7
#define DAT_OTHER_NAME DAT_X_FIRST
#define max_old_name max_new_name
#define DAT_GET_X(status) ((status) & DAT_NUMBER)
#define dat_x_open(name) dat_x_openv((name))
#undef DAT_GONE
enum dat_x_mask
{
 DAT_X_FIELD_A = 0x1,
 DAT_X_FIELD_ALL = (DAT_X_FIELD_A | 0x2)
};
# 1 "/usr/include/dat2/dat.h" 1
typedef enum dat_x { DAT_X_FIRST, DAT_X_SECOND
 ,DAT_X_THIRD } DAT_X;
typedef enum dat_x_mask DAT_X_MASK;
typedef struct dat_y DAT_Y;
typedef void * DAT_HANDLE;
typedef char (* DAT_COOKIE)[40];
typedef void (*DAT_FUNC) ( void *, DAT_X );
extern DAT_RETURN dat_x_create ( IN DAT_X, OUT DAT_Y * );
static __inline__ DAT_RETURN dat_x_text ( IN int value ) { switch (value) { case 1: return 0; } return 1; }
# 1 "/usr/include/dat2/dat_redirection.h" 1
typedef struct dat_provider { int table; } DAT_PROVIDER;
# 9 "/usr/include/dat2/dat.h" 2
struct dat_y
{
 const DAT_X x[2][2];
 DAT_Z * pointer;
 union { struct { int deep; } inner; int b; } choice;
 union { int left; int right; };
 void (*call)(int);
};
`

func TestParseDeclarations(t *testing.T) {
	got := parseDeclarations(preprocessed)
	want := &cDeclarations{
		types: []*cType{
			{name: "DAT_X", constants: []string{"DAT_X_FIRST", "DAT_X_SECOND", "DAT_X_THIRD"}, tag: "enum dat_x"},
			{name: "DAT_X_MASK", constants: []string{"DAT_X_FIELD_A", "DAT_X_FIELD_ALL"}, tag: "enum dat_x_mask"},
			{name: "DAT_Y", members: []string{"x", "pointer", "choice.inner.deep", "choice.b", "left", "right", "call"}, tag: "struct dat_y"},
			{name: "DAT_HANDLE"},
			{name: "DAT_COOKIE"},
			{name: "DAT_FUNC"},
		},
		constants: []cConstant{{name: "DAT_NUMBER"}, {"DAT_OTHER_NAME", "DAT_X_FIRST"}, {"max_old_name", "max_new_name"}},
		macros:    []string{"DAT_GET_X"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(cDeclarations{}, cType{}, cConstant{})); diff != "" {
		t.Errorf("declarations (-want +got):\n%s", diff)
	}
}
