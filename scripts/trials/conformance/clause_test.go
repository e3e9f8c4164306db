package conformance

import "fmt"

// Page is a manual page.
type Page struct {
	Letter   byte // with which the IDs of its clauses begin
	Function string
	Method   string // of package udat
	clauses  []requirement
}

// Pages are the manual pages, in the order of a report.
var Pages = []Page{
	{'C', "dat_ep_create", "CreateEP", createClauses},
	{'G', "dat_ep_get_status", "EP.GetStatus", getStatusClauses},
	{'M', "dat_ep_modify", "EP.Modify", modifyClauses},
	{'D', "dat_ep_disconnect", "EP.Disconnect", disconnectClauses},
	{'F', "dat_ep_free", "EP.Free", freeClauses},
}

// requirement is one of a manual page that can be seen from outside, in words of our own, and its trial.
type requirement struct {
	text string
	try  func(*trial)
}

// Clause is a requirement with its ID, such as "C-01": the letter of the page and a number.
type Clause struct {
	ID string
	requirement
}

// Clauses are those of all pages, in their order.
var Clauses = func() (all []Clause) {
	for _, page := range Pages {
		for i, r := range page.clauses {
			all = append(all, Clause{fmt.Sprintf("%c-%02d", page.Letter, i+1), r})
		}
	}
	return all
}()
