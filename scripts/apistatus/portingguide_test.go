package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func madeProgram(language string, sources ...string) *program {
	p := &program{language: language, steps: map[string]string{}}
	for _, source := range sources {
		p.add(source)
	}
	return p
}

func TestFillGuide(t *testing.T) {
	c := madeProgram("c", "#include <x.h>\n\n/* step: open it */\n/* A comment\n   of two lines. */\nint open;\n\nint more; // one\n\n/* step: errors */\nint errors;\n")
	golang := madeProgram("go", "package main\n\nimport \"x\"\n\n// step: open it\nvar open int\n", "package main\n\n// step: both\nvar both int\n")
	const guide = `# Guide
<!-- step: open it -->
stale
<!-- end -->
text
<!-- step: errors -->
<!-- end -->
<!-- step: both -->
<!-- end -->
<!-- lines: -->
stale
<!-- end -->
`
	const want = "# Guide\n" + `<!-- step: open it -->

C, 2 lines:

` + "```c\n/* A comment\n   of two lines. */\nint open;\n\nint more; // one\n```" + `

Go, 1 line:

` + "```go\nvar open int\n```" + `

<!-- end -->
text
<!-- step: errors -->

C, 1 line:

` + "```c\nint errors;\n```" + `

Go: nothing.

<!-- end -->
<!-- step: both -->

C: nothing.

Go, 1 line:

` + "```go\nvar both int\n```" + `

<!-- end -->
<!-- lines: -->

| step | C | Go |
| --- | ---: | ---: |
| includes and imports | 1 | 3 |
| open it | 2 | 1 |
| errors | 1 | 0 |
| both | 0 | 1 |
| **all** | **4** | **5** |

<!-- end -->
`
	page, problems := fillGuide([]byte(guide), c, golang)
	if diff := cmp.Diff(want, string(page)); diff != "" {
		t.Errorf("the guide (-want +got):\n%s", diff)
	}
	if len(problems) > 0 {
		t.Errorf("problems: %q", problems)
	}
	if again, _ := fillGuide(page, c, golang); string(again) != string(page) {
		t.Errorf("a guide that is filled changes to\n%s", again)
	}
}

func TestGuideProblems(t *testing.T) {
	c := madeProgram("c", "/* step: open */\nint open;\n/* step: open */\nint again;\n")
	golang := madeProgram("go", "// step: open\nvar open int\n// step: close\nvar end int\n")
	_, problems := fillGuide([]byte("<!-- step: open -->\n<!-- end -->\n<!-- step: opne -->\n<!-- end -->\n"), c, golang)
	want := []string{
		`examples/deposit/side-by-side.md: no program has the step "opne"`,
		`the c program has the step "open" twice`,
		`examples/deposit/side-by-side.md: the step "close" of the go program is missing`,
	}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}
