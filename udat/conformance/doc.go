// Package conformance shows, clause by clause, what the uDAPL manual pages on
// endpoints require and what a program that uses package udat gets.
//
// Its tests are the suite. Each of the Clauses has a subtest named by its ID,
// which causes on a real adapter what the clause speaks of:
//
//	go test ./udat/conformance -ia NAME -report /tmp/report.md
//
// NAME is what udat.Open takes, or several of those, separated by commas; by
// default it is UDAT_TEST_IA. The report is a page to read if the file's name
// ends in .md, and JSON for programs if it ends in .json. The suite compares the
// page of the test bed's adapters with docs/conformance.md, and fails when they
// differ. A machine has those over soft-RoCE, or that over soft-iWARP, whose report
// is kept in testdata. To renew that, and the page:
//
//	TESTBED_SHARE="$PWD/udat/conformance/testdata" TESTBED_DEVICE=siw go test -count=1 \
//		-exec "$PWD/scripts/testbed" ./udat/conformance -report testdata/siw.json
//	TESTBED_SHARE="$PWD/docs" go test -count=1 -exec "$PWD/scripts/testbed" \
//		./udat/conformance -report "$PWD/docs/conformance.md"
//
// A clause is shown, violated or not shown. Not shown are those that cannot be
// caused on the provider; the report has the reason and what would be needed.
// The suite fails when a clause is violated. What the native library does
// by itself is tried through package cgo, where that is safe, and is part of the
// report and not of the verdict.
package conformance
