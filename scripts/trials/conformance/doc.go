// Package conformance shows, clause by clause, what the uDAPL manual pages on endpoints require, and what programs get
// that use package udat.
//
// Its tests are the suite. Each of the Clauses has a subtest named by its ID, which tries the clause on a real adapter:
//
//	go test ./scripts/trials/conformance -ia NAME -report /tmp/report.md
//
// NAME is the name of an entry in dat.conf, or a device as udat.Open takes it, cma:eth0 or scm:mlx5_0/1; there may be several,
// separated by commas. By default it is UDAT_TEST_IA. The report is a page to read if the file's name ends in .md, and
// JSON for programs if it ends in .json.
//
// A clause is shown, violated or not shown. A clause is not shown if the provider does not allow the situation; the
// report has the reason and what would be needed. The suite fails when a clause is violated.
//
// A probe tries what the native library does for a clause without udat, through package cgo. That is part of the report
// and not of the verdict. Each probe runs in a process of its own, and may end it or hang.
//
// The suite compares the page of the test bed's adapters with docs/reference/conformance.md, and fails when they differ. A machine has
// the adapters over soft-RoCE, or the one over soft-iWARP. testdata has the report of the latter, and what the
// published library does, which does not change. To renew all of them:
//
//	scripts/native --unpatched
//	suite() { TESTBED_SHARE="$PWD/scripts/trials/conformance/testdata:$PWD/docs" go test -count=1 -exec "$PWD/scripts/testbed" ./scripts/trials/conformance "$@"; }
//	for device in rxe siw; do
//		TESTBED_DEVICE=$device suite -run TestPublished -published ~/.local/share/goudat/release-unpatched/lib
//	done
//	TESTBED_DEVICE=siw suite -report testdata/siw.json
//	TESTBED_DEVICE=rxe suite -report "$PWD/docs/reference/conformance.md"
package conformance
