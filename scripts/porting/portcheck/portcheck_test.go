//go:build cgo

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goudat/goudat/scripts/porting/internal/guide"
)

// parse parses the files, of testdata or with the text.
func parse(t *testing.T, texts map[string]string, names ...string) (*checker, []*source) {
	t.Helper()
	p, err := newParser()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var files []*source
	for _, name := range names {
		text, ok := texts[name]
		if !ok {
			content, err := os.ReadFile(filepath.Join("testdata", name))
			if err != nil {
				t.Fatal(err)
			}
			text = string(content)
		}
		files = append(files, p.file(name, []byte(text)))
	}
	g, err := guide.Read()
	if err != nil {
		t.Fatal(err)
	}
	return &checker{guide: g, program: newProgram(files)}, files
}

var wanted = regexp.MustCompile(`/\* want: (.*) \*/`)

// The warnings are those that the comments in the files name, and no others.
func TestWarnings(t *testing.T) {
	c, files := parse(t, nil, "one.c", "two.c", "two.h")
	seen := map[string]bool{}
	for _, s := range files {
		got := map[int][]string{}
		places, gaps := c.check(s)
		for _, p := range places {
			for _, w := range p.warnings {
				line := s.line(p.offset)
				got[line] = append(got[line], w.subject)
				seen[w.subject] = true
			}
		}
		for i, line := range strings.Split(string(s.text), "\n") {
			var want []string
			if match := wanted.FindStringSubmatch(line); match != nil {
				want = strings.Split(match[1], ", ")
			}
			slices.Sort(got[i+1])
			if !slices.Equal(got[i+1], want) {
				t.Errorf("%s:%d: got the warnings %q, want %q", s.name, i+1, got[i+1], want)
			}
		}
		for _, g := range gaps {
			t.Errorf("%s: %s", s.place(g.offset), g.what)
		}
	}
	for subject, anchor := range subjects {
		if !seen[subject] {
			t.Errorf("no file has a warning of the subject %s", subject)
		}
		if !c.guide.HasSection(anchor) {
			t.Errorf("%s: %s has no section %s", subject, guide.File, anchor)
		}
	}
}

// names returns what the checker says of each name.
func names(c *checker, s *source) map[string]string {
	found := map[string]string{}
	places, _ := c.check(s)
	for _, p := range places {
		found[p.name] = p.golang
	}
	return found
}

func TestNames(t *testing.T) {
	c, files := parse(t, nil, "two.c", "two.h", "one.c")
	two, one := names(c, files[0]), names(c, files[2])
	for _, test := range []struct {
		found      map[string]string
		name, want string
	}{
		{two, "dat_ep_post_recv", "EP.PostRecv("},
		{two, "DAT_EVENT", "Event"},
		{two, "DAT_EVD_DTO_FLAG", "EVDDTO"},
		{two, "private_data_size", "len of Event.PrivateData"},
		{two, "ep_handle", "Event.EP"},
		{two, "as_64", "the value itself"},
		{one, "dat_rmr_bind", "RMR.Bind("},
		{one, "DAT_EP_FIELD_NOTHING", "not a name of uDAPL 2.0"},
		{one, "target_address", "virtual_address"},
	} {
		if got, ok := test.found[test.name]; !ok || !strings.Contains(got, test.want) {
			t.Errorf("%s: got %q, want something with %q", test.name, got, test.want)
		}
	}
	for _, name := range []string{"DAT_OWN_NAME", "greeting", "magic", "peers", "arrived"} {
		if got := two[name]; got != "" {
			t.Errorf("%s, which is the program's own, is %q", name, got)
		}
	}
	// status is a member of uDAPL in one place, and one of the program's in the other.
	places, _ := c.check(files[0])
	n := 0
	for _, p := range places {
		if p.name == "status" {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d places of the member status are one of uDAPL, want 1", n)
	}
}

// What is hard to parse is met all the same, or is said not to be understood.
func TestHardSource(t *testing.T) {
	c, files := parse(t, nil, "hard.c")
	found := names(c, files[0])
	for _, name := range []string{
		"dat_ep_query", "dat_ep_reset", "dat_ep_disconnect", "dat_ep_no_such", "dat_srq_set_lw", "dat_csp_create", "cr_handle", "DAT_EP_PARAM",
	} {
		if found[name] == "" {
			t.Errorf("%s is not met", name)
		}
	}
	for _, name := range []string{"dat_in_comment", "dat_in_string", "IN", "OUT"} {
		if found[name] != "" {
			t.Errorf("%s is taken for a name of uDAPL", name)
		}
	}
	_, gaps := c.check(files[0])
	var got []string
	for _, g := range gaps {
		got = append(got, fmt.Sprint(files[0].line(g.offset), " ", g.what))
	}
	for _, want := range []string{"13 the preprocessor makes a name of dat_ ", "19 syntax: "} {
		if !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, want) }) {
			t.Errorf("no %q among what is not understood: %q", want, got)
		}
	}
	if len(got) != 2 {
		t.Errorf("not understood: %q", got)
	}
}

// No name of uDAPL is passed over in silence, whatever the text looks like.
func TestNothingIsPassedOver(t *testing.T) {
	for _, text := range []string{
		"", "(", "dat_ep_free", "dat_ep_free(", "}}} dat_ep_free(ep); {{{", "#define X dat_ep_free", "#define X(a) dat_ep_free(a", "#if dat_ep_free\n",
		"#error dat_ep_free\n", "#pragma dat_ep_free\n", "x = 1 ? dat_ep_free(", "struct { dat_ep_free", "'\"' dat_ep_free", "\xff\x00dat_ep_free(\xfe)",
		"int f() { asm(dat_ep_free); }", "#define A(x) \\\n x \\\n dat_ep_free(x) \\\n", "switch (dat_ep_free",
		"class X : public Y { void f() { dat_ep_free(h); } };", "int f() { [dat_ep_free](x){}; }", "/* dat_ep_free",
		"#define B do { dat_ep_free(ep);\n",
	} {
		c, files := parse(t, map[string]string{"x.c": text}, "x.c")
		met := false
		places, gaps := c.check(files[0])
		for _, p := range places {
			met = met || p.name == "dat_ep_free"
			p.file.place(p.offset)
		}
		for _, g := range gaps {
			met = met || strings.Contains(g.what, "dat_ep_free")
			g.file.place(g.offset)
		}
		if want := len(files[0].identifiers) > 0 && strings.Contains(text, "dat_") && text != "/* dat_ep_free"; want && !met {
			t.Errorf("%q: dat_ep_free is passed over: %v %v", text, places, gaps)
		}
	}
}

// C++ is read as C: calls are met, with their warnings, whatever is not understood around them.
func TestCPlusPlus(t *testing.T) {
	folder := t.TempDir()
	text := `namespace dat {
class ep { public: ep(DAT_IA_HANDLE, const ep &); ~ep(); void query(DAT_EP_PARAM & p = none); private: DAT_EP_HANDLE handle; };
inline ep::ep(DAT_IA_HANDLE ia, DAT_EP_ATTR & attr) : handle(DAT_HANDLE_NULL) {
	if (dat_ep_create(ia, 0, 0, 0, 0, &attr, &handle) != DAT_SUCCESS) { throw -1; }
}
inline ep::~ep() {
	dat_ep_free(handle);
}
}
`
	if err := os.WriteFile(filepath.Join(folder, "ep.cpp"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(&out, []string{folder}, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ep.cpp:4:6: dat_ep_create: CreateEP(", "ep.cpp:7:2: dat_ep_free: EP.Free() (err error)", "\twarning: code: ", "ep.cpp:3:10: syntax: "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, out.String())
		}
	}
}

func TestReport(t *testing.T) {
	var out bytes.Buffer
	if err := run(&out, []string{"testdata"}, false); err != nil {
		t.Fatal(err)
	}
	report := out.String()
	for _, want := range []string{
		"testdata/two.c:61:2: dat_ep_post_recv: EP.PostRecv(iov []Segment, cookie uint64, flags CompletionFlags) error\n\twarning: code: ",
		"\trecipe: dat_set_consumer_context -> a field beside the object\n",
		"; see docs/porting.md#cookies\n",
		"Without a counterpart in Go: each function\n",
		"\ndat_csp_create: none: the library does not export it (testdata/hard.c:20)\n",
		"\nUnknown to uDAPL 2.0:\n",
		"\nNot understood, look there:\ntestdata/hard.c:13:28: ",
	} {
		if !strings.Contains(report, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	if t.Failed() {
		t.Log(report)
	}
	out.Reset()
	if err := run(&out, []string{"testdata/hard.c"}, true); err != nil || strings.Contains(out.String(), "dat_ep_query") {
		t.Errorf("a brief report: %v\n%s", err, out.String())
	}
}

// Links are followed, but for those to nothing, which editors leave as locks, and to folders, which may be circles.
func TestLinks(t *testing.T) {
	folder := t.TempDir()
	link := filepath.Join(folder, "link")
	for name, target := range map[string]string{
		"real/.#two.c": "user@host.1:2", "real/one.c": "../one.c", "real/folder.c": ".", "link": "real",
	} {
		name = filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "one.c"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := sourceFiles([]string{link, filepath.Join(link, "one.c")})
	want := []string{filepath.Join(link, "one.c"), filepath.Join(link, "one.c")}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if _, err := sourceFiles([]string{filepath.Join(link, ".#two.c")}); err == nil {
		t.Error("a link to nothing is read")
	}
}

func TestNoFiles(t *testing.T) {
	for _, path := range []string{t.TempDir(), "testdata/none.c"} {
		if err := run(&bytes.Buffer{}, []string{path}, false); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestLookUp(t *testing.T) {
	for name, want := range map[string]string{
		"DAT_EP_POST_SEND":          "dat_ep_post_send: EP.PostSend(iov []Segment",
		"dat_lmr_create":            "recipe: malloc, dat_lmr_create -> ",
		"user_cookie":               "DAT_DTO_COMPLETION_EVENT_DATA.user_cookie: Event.Cookie",
		"DAT_cno_Param.PROXY.agent": "DAT_CNO_PARAM.proxy.agent: ",
		"TRANSFERED_LENGTH":         "recipe: 1.x: transfered_length of 64 bits",
		"post_send":                 "",
	} {
		var out bytes.Buffer
		if err := run(&out, []string{name}, false); (err == nil) != (want != "") || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %v\n%s", name, err, out.String())
		}
	}
}
