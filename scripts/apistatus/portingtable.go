package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

const tableFile = "docs/reference/porting-table.md"

// section is a part of the table, for one kind of object. A name belongs to the section with the longest pattern that
// matches it. A constant of an enum belongs to the section of its type.
type section struct{ title, names string }

var sections = []section{
	{"Return codes", "dat_strerror* DAT_RETURN* DAT_IB_RETURN DAT_CLASS_* DAT_TYPE_MASK DAT_SUBTYPE_MASK DAT_IS_WARNING DAT_GET_* DAT_NAME_NOT_FOUND"},
	{"Adapters and providers", "dat_ia_* dats_* dat_registry_* dat_ib_*_query DAT_IA_* DAT_PROVIDER_* DAT_HA_* DAT_NAMED_ATTR DAT_NAME_* " +
		"DAT_EXTENSION DAT_EXTENSIONS DAT_IB_EXTENSION DAT_IW_EXTENSION DAT_IB_EXTENSION_VERSION DAT_IB_ATTR_* DAT_IOV_OWNERSHIP " +
		"DAT_EP_CREATOR_FOR_PSP DAT_PZ_SUPPORT DAT_VERSION_* DAT_REVISION DAT_THREADSAFE DAT_OPTIMAL_ALIGNMENT max_*"},
	{"Protection zones", "dat_pz_* DAT_PZ_*"},
	{"Memory", "dat_lmr_* dat_rmr_* DAT_LMR_* DAT_RMR_* DAT_MEM_* DAT_IB_MEM_* DAT_VA_TYPE DAT_REGION_DESCRIPTION DAT_SHARED_MEMORY DAT_VADDR DAT_VLEN DAT_SEG_LENGTH DAT_PADDR"},
	{"Event dispatchers and events", "dat_evd_* DAT_EVD_* DAT_EVENT* DAT_*_EVENT_DATA DAT_*_ASYNC_ERROR_REASON DAT_IB_EVENT_NUMBER DAT_IB_EXT_TYPE DAT_IB_STATUS " +
		"DAT_IB_EVD_* DAT_IB_IMMED_DATA DAT_DTO_COMPLETION_STATUS DAT_DTO_LENGTH_ERROR DAT_DTO_FAILURE DAT_RMR_BIND_*"},
	{"Notification objects", "dat_cno_* DAT_CNO_* DAT_AGENT_FUNC DAT_OS_WAIT_PROXY_AGENT* DAT_PROXY_TYPE DAT_FD"},
	{"Service points and connection requests", "dat_psp_* dat_rsp_* dat_csp_* dat_cr_* DAT_PSP_* DAT_RSP_* DAT_CSP_* DAT_CR_* DAT_SP_HANDLE DAT_CONN_QUAL DAT_PORT_QUAL DAT_COMM"},
	{"Endpoints", "dat_ep_* DAT_EP_* DAT_SERVICE_TYPE DAT_IB_SERVICE_TYPE DAT_QOS DAT_CONNECT_* DAT_CLOSE_* DAT_TIMEOUT*"},
	{"Data transfer", "dat_ep_post_* dat_ib_post_* dat_ib_ud_* DAT_DTO* DAT_IB_DTOS DAT_COMPLETION_* DAT_IB_ADDR_HANDLE dat_extension_op DAT_EXTENDED_OP DAT_IB_OP DAT_*_COUNTERS_OP DAT_OPEN_EXTENSION_BASE DAT_CLOSE_EXTENSION_BASE"},
	{"Shared receive queues", "dat_srq_* dat_ep_create_with_srq dat_ep_recv_query dat_ep_set_watermark DAT_SRQ_* DAT_WATERMARK_INFINITE DAT_HW_DEFAULT DAT_VALUE_UNKNOWN"},
	{"Counters", "dat_ib_*_counter* DAT_*_COUNTERS DAT_*_COUNTER_TYPE"},
	{"All objects, and plain types", "dat_get_* dat_set_* DAT_HANDLE* DAT_IB_HANDLE_TYPE DAT_CONTEXT DAT_COUNT DAT_BOOLEAN DAT_UINT* DAT_UVERYLONG DAT_PVOID DAT_SOCK_ADDR* " +
		"DAT_IA_ADDRESS_PTR DAT_AF_* DAT_EXPORT DAT_IA_HANDLE_TO_UL DAT_UL_TO_IA_HANDLE"},
	{"Collective operations", "dat_ib_collective_* DAT_IB_COLL*"},
}

// sectionOf returns -1 for a name that fits nowhere.
func sectionOf(name string) int {
	best, longest := -1, 0
	for i, s := range sections {
		if length := longestPattern(s.names, name); length > longest {
			best, longest = i, length
		}
	}
	return best
}

// portingTable is what is on the page.
type portingTable struct {
	functions []*row
	*counterparts
}

// tableRow is a row of two cells. Adjacent rows with the same right cell become one.
type tableRow struct{ left, right string }

// portingTable makes the page. A name without a section is a problem.
func (s *status) portingTable(c *counterparts) (page []byte, problems []string) {
	t := &portingTable{s.rows, c}
	problems = c.problems
	complain := func(name string) {
		problems = append(problems, name+": scripts/apistatus/portingtable.go has no section for it")
	}
	for _, f := range t.functions {
		if sectionOf(f.name) < 0 {
			complain(f.name)
		}
	}
	for _, list := range [][]counterpart{c.types, c.constants} {
		for _, counterpart := range list {
			if sectionOf(counterpart.sectionName()) < 0 {
				complain(counterpart.c)
			}
		}
	}
	return t.page(), problems
}

// sectionName is the name that decides about the section.
func (c counterpart) sectionName() string {
	if c.group != "" {
		return c.group
	}
	return c.c
}

func (t *portingTable) page() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `# Porting table

What Go has for each function, type, structure member and constant of uDAPL: %d functions, %d types, %d members, %d constants.
[porting.md](../porting.md) says how the two differ beyond names, and ports a program.

scripts/apistatus writes this page from the installed headers, the symbols of libdat2 and the Go sources. Do not edit.

Go names are those of package udat. Where C returns a DAT_RETURN, Go returns an error. "none" is followed by the reason. The
headers dat_redirection.h and udat_redirection.h, through which the library calls its providers, are left out.

`, len(t.functions), len(t.types), len(t.members), len(t.constants))
	for _, s := range sections {
		fmt.Fprintf(&b, "- [%s](#%s)\n", s.title, strings.NewReplacer(" ", "-", ",", "").Replace(strings.ToLower(s.title)))
	}
	for i, s := range sections {
		fmt.Fprintf(&b, "\n## %s\n", s.title)
		writeTable(&b, "C function", "Go", t.functionRows(i))
		writeTable(&b, "C type", "Go", rowsOf(t.types, i))
		writeTable(&b, "C member", "Go", rowsOf(t.members, i))
		writeTable(&b, "C constant or macro", "Go", rowsOf(t.constants, i))
	}
	return b.Bytes()
}

func writeTable(b *bytes.Buffer, left, right string, rows []tableRow) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(b, "\n| %s | %s |\n| --- | --- |\n", left, right)
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].right == rows[0].right {
			n++
		}
		var names []string
		for _, r := range rows[:n] {
			names = append(names, "`"+r.left+"`")
		}
		fmt.Fprintf(b, "| %s | %s |\n", foldNames(names), rows[0].right)
		rows = rows[n:]
	}
}

// unfolded is how many names a cell shows.
const unfolded = 6

// foldNames folds long lists of names. A reader can open or search them.
func foldNames(names []string) string {
	if len(names) <= unfolded {
		return strings.Join(names, ", ")
	}
	for i, name := range names {
		names[i] = "<code>" + strings.Trim(name, "`") + "</code>"
	}
	return fmt.Sprintf("<details><summary>%s to %s, %d names</summary>%s</details>", names[0], names[len(names)-1], len(names), strings.Join(names, ", "))
}

func (t *portingTable) functionRows(section int) (rows []tableRow) {
	for _, f := range t.functions {
		if sectionOf(f.name) == section {
			rows = append(rows, tableRow{f.name, f.goCell()})
		}
	}
	return rows
}

// goCell returns the methods with their parameters, or why there are none.
func (r *row) goCell() string {
	var cells []string
	for _, w := range r.allMethods() {
		cells = append(cells, fmt.Sprintf("[%s](../../%s)`%s`", w.name, w.file, w.signature))
	}
	switch {
	case len(r.via) > 1:
		return "the methods of its macros"
	case len(cells) == 0 && r.exemption != nil:
		return "none: " + lowerFirst(strings.TrimSuffix(r.exemption.reason, "."))
	case len(cells) == 0 && !r.linkable():
		return "none: the library does not export it"
	case len(cells) == 0:
		return none
	}
	return strings.Join(cells, "<br>")
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }

func rowsOf(list []counterpart, section int) (rows []tableRow) {
	for _, c := range list {
		if sectionOf(c.sectionName()) == section {
			rows = append(rows, tableRow{c.c, c.goCell()})
		}
	}
	return rows
}

func (c counterpart) goCell() string {
	if len(c.golang) > 0 {
		var cells []string
		for _, name := range slices.Sorted(slices.Values(c.golang)) {
			cells = append(cells, "`"+name+"`")
		}
		return strings.Join(cells, ", ")
	}
	return goNameInAnswer.ReplaceAllString(c.answer.text, "`$1`")
}
