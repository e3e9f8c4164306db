package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goudat/goudat/scripts/porting/internal/guide"
)

// warning is something at a place that a port must not repeat, or must think of.
type warning struct {
	subject string // one of the subjects below
	text    string
}

// subjects are what warnings are about, with the anchor of the guide's section.
var subjects = map[string]string{
	"1.x":          "from-udapl-1x",
	"accept":       "memory-that-the-peer-writes",
	"code":         "errors",
	"cookie":       "cookies",
	"EVD length":   "event-loops",
	"handle":       "idioms",
	"lock":         "threads",
	"macro":        "idioms",
	"polling":      "memory-that-the-peer-writes",
	"private data": "private-data-and-byte-order",
	"shared EVD":   "event-loops",
	"wire":         "private-data-and-byte-order",
}

var (
	oldHeaders = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*include[ \t]*[<"]dat/`)
	handleType = regexp.MustCompile(`^DAT_\w*HANDLE$`)
	zero       = regexp.MustCompile(`^(0|NULL|DAT_HANDLE_NULL)$`)
	wireSizes  = regexp.MustCompile(`^DAT_RMR_TRIPLET$`)
	typeOfCode = regexp.MustCompile(`DAT_GET_TYPE|DAT_TYPE_MASK`)
	integer    = regexp.MustCompile(`^(unsigned|signed|char|short|int|long|size_t|u?int\d+_t|DAT_U?INT\d+|DAT_COUNT)\b`)
)

func (c *checker) say(n *node, subject, format string, args ...any) {
	p, w := c.at(n), warning{subject, fmt.Sprintf(format, args...)}
	if !slices.Contains(p.warnings, w) {
		p.warnings = append(p.warnings, w)
	}
}

// warn looks at one node.
func (c *checker) warn(n *node) {
	switch n.kind {
	case "preproc_include":
		if path := n.child("path"); path != nil && oldHeaders.MatchString("#include "+path.text) {
			c.say(path, "1.x", "headers of uDAPL 1.x: names, members and structures below may be those of 1.x")
		}
	case "identifier":
		c.warnOfName(n)
	case "field_identifier":
		if p := c.places[n.offset]; p != nil && p.unknown && c.old {
			c.say(n, "1.x", "the file includes the headers of 1.x, and 2.0 has no such member")
		}
	case "field_expression":
		c.warnOfPrivateData(n)
	case "assignment_expression":
		c.warnOfCookie(n.child("left"), n.child("right"))
	case "initializer_pair":
		if designator := n.child("designator"); designator != nil && len(designator.children) > 0 {
			c.warnOfCookie(designator.children[0], n.child("value"))
		}
	case "cast_expression":
		c.warnOfCast(n)
	case "binary_expression":
		c.warnOfComparison(n)
	case "case_statement":
		if around := n.within("switch_statement"); around != nil {
			c.warnOfCode(n.child("value"), around.child("condition"))
		}
	case "while_statement", "for_statement", "do_statement":
		c.warnOfPolling(n)
	case "declaration", "parameter_declaration", "field_declaration":
		c.warnOfVolatile(n)
	case "sizeof_expression":
		if mentions(n, wireSizes) {
			c.say(n, "wire", "the size of a structure of uDAPL: another in 1.x, and the bytes are in host order; "+
				"RMRTriplet.AppendBinary writes 16 bytes, big-endian")
		}
	case "function_definition":
		c.warnOfLocks(n)
	case "preproc_function_def":
		if names := functionsIn(n.child("value")); len(names) > 0 {
			c.say(n.child("name"), "macro", "a macro with calls of %s: in Go, a function that returns the error", strings.Join(names, ", "))
		}
	}
}

// functionsIn lists the functions of uDAPL that code calls.
func functionsIn(n *node) (names []string) {
	if n == nil {
		return nil
	}
	n.walk(func(n *node) bool {
		if n.kind == "identifier" && strings.HasPrefix(n.text, "dat_") && called(n) && !slices.Contains(names, n.text) {
			names = append(names, n.text)
		}
		return true
	})
	return names
}

// warnOfName looks at a name of uDAPL, and at the call if it is that of a function.
func (c *checker) warnOfName(n *node) {
	p := c.places[n.offset]
	if p == nil || p.name != n.text {
		return
	}
	if p.unknown && c.old {
		c.say(n, "1.x", "the file includes the headers of 1.x, and 2.0 has no such name")
	}
	if c.guide.Entries[n.text].Kind != guide.Function {
		return
	}
	if !called(n) {
		if !includeGuard(n) && n.parent.kind != "function_declarator" {
			c.say(n, "macro", "the function is not called here: a pointer to it, or a name for the preprocessor")
		}
		return
	}
	args, statement := n.arguments()
	if n.parent.kind == "argument_list" {
		c.say(n, "macro", "called by %s, which gets its name: in Go, call the method and return the error", n.parent.parent.child("function").text)
	} else if statement && !strings.HasPrefix(n.text, "dat_strerror") {
		c.say(n, "code", "the code that it returns is dropped: look at the error in Go")
	}
	c.warnOfCall(n, args)
}

// arguments returns those of a call of the function that n names, and whether the call is a statement.
func (n *node) arguments() (args []*node, statement bool) {
	list := n.parent
	if list.kind == "call_expression" {
		up := list.parent
		for up.kind == "cast_expression" && up.child("type").text == "void" {
			up = up.parent
		}
		statement = up.kind == "expression_statement" && !up.wholeMacro()
		list = list.child("arguments")
	}
	if list == nil {
		return nil, statement
	}
	for _, arg := range list.children {
		switch {
		case arg.kind == "comment":
		case arg == n:
			args = nil // a macro's arguments before the name are its own
		default:
			args = append(args, arg)
		}
	}
	return args, statement
}

// wholeMacro reports whether a statement is the body of a macro, which may be an expression.
func (n *node) wholeMacro() bool {
	body := n.within("preproc_arg")
	return body != nil && strings.TrimSpace(strings.TrimSuffix(n.text, ";")) == strings.TrimSpace(body.text)
}

func (c *checker) warnOfCall(n *node, args []*node) {
	arg := func(i int) *node {
		if i < len(args) {
			return args[i]
		}
		return nil
	}
	switch n.text {
	case "dat_lmr_create":
		if len(args) == 11 {
			c.say(n, "1.x", "11 arguments: a call of 1.x, which has no DAT_VA_TYPE")
		}
	case "dat_rmr_bind":
		if len(args) == 7 {
			c.say(n, "1.x", "7 arguments: a call of 1.x, which binds a triplet")
		}
	case "dat_cr_reject":
		if len(args) == 1 {
			c.say(n, "1.x", "1 argument: a call of 1.x, which sends no private data")
		}
		c.warnOfRaw(n, arg(2))
	case "dat_cr_accept":
		c.warnOfRaw(n, arg(3))
		c.warnOfAccept(n)
	case "dat_ep_connect":
		c.warnOfRaw(n, arg(5))
	case "dat_ep_dup_connect":
		c.warnOfRaw(n, arg(4))
	case "dat_evd_create":
		flags := arg(3)
		if flags != nil && (strings.Contains(flags.text, "DAT_EVD_DTO_FLAG") || !strings.Contains(flags.text, "DAT_EVD_")) {
			c.say(n, "EVD length", "%s completions fit, however many endpoints share it: in C the program must not post more, "+
				"in Go a post without room fails with ErrInsufficientResources, and is to be made again after completions were taken",
				clip(arg(1).text))
		}
	case "dat_ep_create", "dat_ep_create_with_srq":
		c.warnOfSharedEVD(n, arg(2), arg(3), arg(4))
	}
}

// warnOfRaw looks at the private data that a call sends.
func (c *checker) warnOfRaw(n, data *node) {
	if data = data.stripped(); data != nil && data.kind == "pointer_expression" && strings.HasPrefix(data.text, "&") {
		if inner := data.child("argument"); inner == nil || inner.kind != "subscript_expression" {
			c.say(n, "wire", "%s is sent as it is in memory: fixed layout and byte order, by encoding/binary or RMRTriplet.AppendBinary", clip(data.text[1:]))
		}
	}
}

// warnOfAccept looks for posts after an accept, which nothing between them makes wait for the connection.
func (c *checker) warnOfAccept(accept *node) {
	function := accept.within("function_definition")
	if function == nil {
		return
	}
	waited := false
	function.walk(func(n *node) bool {
		if n.kind != "identifier" || n.offset <= accept.offset || !called(n) {
			return true
		}
		switch {
		case takesEvents.MatchString(n.text):
			waited = true
		case sends.MatchString(n.text) && !waited:
			c.say(n, "accept", "nothing here waits for DAT_CONNECTION_EVENT_ESTABLISHED after dat_cr_accept: in Go CR.AcceptAndWait; "+
				"that the peer's bytes are there does not say that the endpoint is connected")
		}
		return true
	})
}

var (
	takesEvents = regexp.MustCompile(`^dat_(evd_wait|evd_dequeue|cno_wait)$|(?i)(wait|establish|poll|progress)`)
	sends       = regexp.MustCompile(`^dat_(ep_post_(send|rdma)|ib_post_)`)
)

// warnOfSharedEVD looks at the EVDs of an endpoint.
func (c *checker) warnOfSharedEVD(n, recv, request, connect *node) {
	if connect == nil {
		return
	}
	if name := lastName(recv); name != "" && name == lastName(request) && !zero.MatchString(name) {
		c.say(n, "shared EVD", "completions of receives and requests come in one queue, %s: Event.Operation and the cookie tell them apart", name)
	}
	name := lastName(connect)
	if name == "" || zero.MatchString(name) {
		return
	}
	const remedy = "EVD.Expect takes whatever is next: look at Event.EP, or give each endpoint an EVD of its own"
	sites, requests, creates := 0, false, false
	owner := n.within("function_definition")
	c.file.root.walk(func(other *node) bool {
		if other.kind != "identifier" || !called(other) {
			return true
		}
		args, _ := other.arguments()
		uses := func(i int) bool { return i < len(args) && lastName(args[i]) == name }
		switch other.text {
		case "dat_ep_create", "dat_ep_create_with_srq":
			if uses(4) {
				sites++
			}
		case "dat_psp_create", "dat_psp_create_any":
			requests = requests || uses(2)
		case "dat_rsp_create":
			requests = requests || uses(3)
		case "dat_evd_create":
			creates = creates || uses(4) && other.within("function_definition") == owner
		}
		return true
	})
	switch {
	case sites > 1 || n.within("while_statement", "for_statement", "do_statement") != nil:
		c.say(n, "shared EVD", "events of several endpoints come in one queue, %s, in the order in which they happen; %s", name, remedy)
	case !creates:
		c.say(n, "shared EVD", "if other endpoints have %s, too, their events come in one queue; %s", name, remedy)
	}
	if requests {
		c.say(n, "shared EVD", "connection requests and events of connections come in one queue, %s; %s", name, remedy)
	}
}

// warnOfCookie looks at what is assigned to a variable or member.
func (c *checker) warnOfCookie(left, right *node) {
	if left == nil || right == nil {
		return
	}
	field := left
	if left.kind == "field_expression" {
		field = left.child("field")
	}
	if field == nil || field.kind != "field_identifier" {
		return
	}
	switch field.text {
	case "as_64", "as_index":
		if c.consumerContext(field) || !c.pointer(right) {
			return
		}
	case "as_ptr":
		if c.consumerContext(field) || zero.MatchString(right.stripped().text) {
			return
		}
	default:
		return
	}
	c.say(field, "cookie", "a pointer as cookie, %s: put what it points to into a slice, and use the index", clip(right.text))
}

// consumerContext reports whether a member is that of a consumer context, which can be any value in Go.
func (c *checker) consumerContext(field *node) bool { return c.typeOfBase(field) == "DAT_CONTEXT" }

// pointer reports whether the value of an expression is an address.
func (c *checker) pointer(n *node) bool {
	for up := n; up != nil && up.kind != ""; {
		if up.kind == "cast_expression" {
			t, value := up.child("type"), up.child("value")
			if t != nil && strings.Contains(t.text, "*") || t != nil && strings.Contains(t.text, "intptr_t") && !c.number(value) {
				return true
			}
			up = value
			continue
		}
		if up.kind == "parenthesized_expression" && len(up.children) > 0 {
			up = up.children[0]
			continue
		}
		if up.kind == "pointer_expression" {
			return strings.HasPrefix(up.text, "&")
		}
		d, _ := c.program.lookUp(up)
		return d.pointer
	}
	return false
}

// number reports whether an expression is known to be a number.
func (c *checker) number(n *node) bool {
	if n = n.stripped(); n == nil {
		return false
	}
	switch n.kind {
	case "number_literal":
		return true
	case "identifier", "field_expression":
		d, _ := c.program.lookUp(n)
		return !d.pointer && integer.MatchString(d.typ)
	}
	return false
}

// warnOfCast looks at casts to cookies and to volatile memory.
func (c *checker) warnOfCast(n *node) {
	t := n.child("type")
	if t == nil {
		return
	}
	if typ := typeText(t); (typ == "DAT_DTO_COOKIE" || typ == "DAT_RMR_COOKIE") && n.child("value").kind != "initializer_list" {
		c.say(t, "cookie", "other memory as cookie, %s: if it is a pointer, use an index", clip(n.text))
	}
	if hasQualifier(t, "volatile") && strings.Contains(t.text, "*") {
		c.say(n, "polling", "memory that something else writes: if it is the peer, use mem.PeerByteAt or mem.PeerWordsAt; there is no volatile in Go")
	}
}

// warnOfVolatile looks at declarations of memory that something else writes.
func (c *checker) warnOfVolatile(n *node) {
	if !hasQualifier(n, "volatile") || typeText(n) == "sig_atomic_t" {
		return
	}
	for _, declarator := range n.children {
		if declarator.field != "declarator" {
			continue
		}
		if name, pointer, function := unwrap(declarator); name != nil && !function && (pointer || n.kind == "field_declaration") {
			c.say(name, "polling", "volatile: if the peer writes it, use mem.PeerByteAt or mem.PeerWordsAt; if a thread does, sync/atomic")
		}
	}
}

// warnOfPolling looks at loops that do nothing but look at memory.
func (c *checker) warnOfPolling(n *node) {
	condition := n.child("condition")
	if condition == nil || !idle(n.child("body"), condition) || n.child("update") != nil {
		return
	}
	reads, calls := false, false
	condition.walk(func(n *node) bool {
		switch n.kind {
		case "subscript_expression", "field_expression":
			reads = true
		case "pointer_expression":
			reads = reads || strings.HasPrefix(n.text, "*")
		case "call_expression", "update_expression", "assignment_expression":
			calls = true
		}
		return true
	})
	if reads && !calls {
		c.say(n, "polling", "a loop that looks at memory until it changes: if the peer writes it, PeerByte.SpinUntil, with a budget; "+
			"between budgets look at the connection and the context")
	}
}

// idle reports whether the body of a loop does nothing, or only waits or counts.
func idle(body, condition *node) bool {
	if body == nil {
		return false
	}
	busy := false
	body.walk(func(n *node) bool {
		switch n.kind {
		case "compound_statement", "expression_statement", "continue_statement", "comment":
			return true
		case "update_expression":
			if counter := n.child("argument"); counter != nil && counter.kind == "identifier" && !mentions(condition, regexp.MustCompile("^"+regexp.QuoteMeta(counter.text)+"$")) {
				return false
			}
		case "call_expression":
			if f := n.child("function"); f != nil && waits.MatchString(f.text) {
				return false
			}
		}
		busy = true
		return false
	})
	return !busy
}

// octets are types whose order does not matter.
var octets = regexp.MustCompile(`^((un)?signed )?char$|^void$|^u?int8_t$|^DAT_(PVOID|U?INT8)$`)

var waits = regexp.MustCompile(`(?i)(yield|sleep|pause|relax|barrier)`)

// warnOfPrivateData looks at uses of private data.
func (c *checker) warnOfPrivateData(n *node) {
	field := n.child("field")
	if field == nil || c.places[field.offset] == nil {
		return
	}
	switch field.text {
	case "private_data_size":
		c.say(field, "private data", "not the length that was sent, with CMA: use a fixed layout, or send the length")
	case "private_data":
		outer, laidOver := n, false
		for outer.parent.kind == "cast_expression" || outer.parent.kind == "parenthesized_expression" {
			outer = outer.parent
			if t := outer.child("type"); t != nil && outer.kind == "cast_expression" {
				laidOver = !octets.MatchString(typeText(t))
			}
		}
		if laidOver {
			c.say(field, "wire", "a structure laid over it: fixed layout and byte order, by encoding/binary or RMRTriplet.UnmarshalBinary")
		}
		kept := outer.parent.kind == "init_declarator" || outer.parent.kind == "assignment_expression" && outer.field == "right"
		switch {
		case kept || outer.parent.kind == "return_statement":
			c.say(field, "private data", "a pointer to it is kept: it is freed with the request or the endpoint in C, and a copy in Go")
		case outer.parent.kind == "field_expression" || outer.parent.kind == "pointer_expression" || outer.parent.kind == "subscript_expression":
			c.say(field, "wire", "a structure laid over it: fixed layout and byte order, by encoding/binary or RMRTriplet.UnmarshalBinary")
		}
	}
}

// warnOfComparison looks at comparisons of handles and codes.
func (c *checker) warnOfComparison(n *node) {
	left, right, operator := n.child("left"), n.child("right"), n.child("operator")
	if left == nil || right == nil || operator == nil || operator.text != "==" && operator.text != "!=" {
		return
	}
	for _, pair := range [][2]*node{{left, right}, {right, left}} {
		one, other := pair[0], pair[1]
		if c.warnOfCode(one, other) {
			return
		}
		if c.handle(one) && !zero.MatchString(other.stripped().text) {
			c.say(n, "handle", "handles compared, %s: compare the objects, as in event.EP() == ep; events of freed endpoints do not come", clip(n.text))
			return
		}
	}
}

// warnOfCode looks at a code, and at what is compared with it.
func (c *checker) warnOfCode(code, other *node) bool {
	if code == nil || other == nil || typeOfCode.MatchString(other.text) {
		return false
	}
	code = code.stripped()
	entry := c.guide.Entries[code.text]
	if !strings.HasPrefix(entry.Go, "Err") {
		return false
	}
	c.say(code, "code", "compared with a whole code, whose class the providers often leave out: errors.Is(err, udat.%s)", entry.Go)
	return true
}

// handle reports whether an expression is a handle.
func (c *checker) handle(n *node) bool {
	n = n.stripped()
	if n.kind == "field_expression" && n.child("field") != nil {
		field := n.child("field")
		if strings.HasSuffix(field.text, "_handle") && len(c.memberEntries(field)) > 0 {
			return true
		}
	}
	d, ok := c.program.lookUp(n)
	return ok && handleType.MatchString(d.typ) && (n.kind == "pointer_expression" || n.kind == "subscript_expression" || !d.pointer)
}

// warnOfLocks looks at a function that takes locks and calls the library.
func (c *checker) warnOfLocks(function *node) {
	if len(functionsIn(function.child("body"))) == 0 {
		return
	}
	function.walk(func(n *node) bool {
		if n.kind == "identifier" && n.field == "function" && locks.MatchString(n.text) {
			c.say(n, "lock", "a lock in a function that calls the library: what is only for the library can go")
		}
		return true
	})
}

var locks = regexp.MustCompile(`(?i)(^|_)(rd|wr)?lock$`)

func clip(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 60 {
		text = text[:60] + "..."
	}
	return text
}
