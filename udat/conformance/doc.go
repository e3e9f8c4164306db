// Package conformance shows, clause by clause, what the uDAPL manual pages on endpoints require, and what programs get
// that use package udat.
//
// Its tests are the suite. Each of the Clauses has a subtest named by its ID, which tries the clause on a real adapter:
//
//	go test ./udat/conformance -ia NAME -report /tmp/report.md
//
// NAME is a name that udat.Open takes, or several, separated by commas; by default it is UDAT_TEST_IA. The report is a
// page to read if the file's name ends in .md, and JSON for programs if it ends in .json. The suite compares the page
// of the test bed's adapters with docs/conformance.md, and fails when they differ. A machine has the adapters over
// soft-RoCE, or the one over soft-iWARP; testdata has the report of the latter. To renew that report, and the page:
//
//	TESTBED_SHARE="$PWD/udat/conformance/testdata" TESTBED_DEVICE=siw go test -count=1 \
//		-exec "$PWD/scripts/testbed" ./udat/conformance -report testdata/siw.json
//	TESTBED_SHARE="$PWD/docs" go test -count=1 -exec "$PWD/scripts/testbed" \
//		./udat/conformance -report "$PWD/docs/conformance.md"
//
// A clause is shown, violated or not shown. A clause is not shown if the provider does not allow the situation; the
// report has the reason and what would be needed. The suite fails when a clause is violated. Where it is safe, the
// suite also tries what the native library does by itself, through package cgo. That is part of the report and not of
// the verdict.
package conformance
