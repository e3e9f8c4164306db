package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/goudat/goudat/scripts/porting/internal/guide"
)

func TestLookUp(t *testing.T) {
	document := func(_, symbol string) (string, error) { return "documentation of " + symbol, nil }
	for name, want := range map[string][]string{
		"dat_ep_post_send":          {"dat_ep_post_send: EP.PostSend(iov []Segment", "\ndocumentation of EP.PostSend\n"},
		"DAT_EP_POST_SEND":          {"dat_ep_post_send: EP.PostSend("},
		"dat_lmr_create":            {"documentation of RegisterMemory", "documentation of AllocMemory", "recipe: malloc, dat_lmr_create -> "},
		"DAT_EP_HANDLE":             {"documentation of EP\n"},
		"user_cookie":               {"DAT_DTO_COMPLETION_EVENT_DATA.user_cookie: Event.Cookie", "documentation of Event.Cookie"},
		"dat_evd_wait":              {"documentation of EVD.Wait", "docs/porting.md#event-loops"},
		"DAT_cno_Param.PROXY.agent": {"DAT_CNO_PARAM.proxy.agent: "},
		"dat_csp_create":            {"dat_csp_create: none: the library does not export it"},
		"transfered_length":         {"documentation of Event.Length", "recipe: 1.x: transfered_length of 64 bits"},
		"dat_timeout":               {"DAT_TIMEOUT: ", "recipe: DAT_TIMEOUT -> context.Context"},
		"TRANSFERED_LENGTH":         {"recipe: 1.x: transfered_length of 64 bits"},
		"target_address":            {},
	} {
		var out bytes.Buffer
		err := lookUp(&out, []string{name}, document)
		if (err == nil) != (len(want) > 0) {
			t.Errorf("%s: %v", name, err)
		}
		for _, part := range want {
			if !strings.Contains(out.String(), part) {
				t.Errorf("%s: no %q in\n%s", name, part, out.String())
			}
		}
	}
}

func TestUnknown(t *testing.T) {
	none := func(_, _ string) (string, error) { return "", errors.New("no documentation") }
	err := lookUp(&bytes.Buffer{}, []string{"post_send", "nothing_at_all", "dat_pz_free"}, none)
	for _, want := range []string{"dat_ep_post_send, ", "nothing_at_all is not a name of uDAPL 2.0\n", "no documentation"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want something with %q", err, want)
		}
	}
}

// go doc knows the names that the tables have.
func TestGoDoc(t *testing.T) {
	g, err := guide.Read()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"dat_ep_post_send", "dat_lmr_create", "DAT_EVENT", "DAT_EP_HANDLE"} {
		for _, symbol := range symbols(g.Entries[name]) {
			if text, err := goDoc(g.Folder, symbol); err != nil || !strings.Contains(text, symbol[strings.IndexByte(symbol, '.')+1:]) {
				t.Errorf("%s: %v, %q", symbol, err, text)
			}
		}
	}
	if _, err := goDoc(g.Folder, "NoSuchThing"); err == nil || !strings.Contains(err.Error(), "NoSuchThing") {
		t.Errorf("a name that does not exist: %v", err)
	}
}
