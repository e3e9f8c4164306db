// Package conformance shows, clause by clause, what the uDAPL manual pages on endpoints require, and what programs get
// that use package udat.
//
// Its tests are the suite. Each of the Clauses has a subtest named by its ID, which tries the clause on a real adapter:
//
//	go test ./scripts/trials/conformance -ia NAME -report /tmp/report.md
//
// NAME is the name of an entry in dat.conf, or a device as udat.Open takes it, cma:eth0 or scm:mlx5_0/1; there may be several,
// separated by commas. By default it is UDAT_TEST_IA. The report is a page to read.
//
// A clause is shown, violated or not shown. A clause is not shown if the provider does not allow the situation; the
// report has the reason and what would be needed. The suite fails when a clause is violated. What the native library
// does without udat is shown by scripts/dapl/devicetest.
//
// The suite compares the page of the test bed's adapters with docs/reference/conformance.md, and fails when they differ. To renew that,
// with soft-RoCE and with soft-iWARP:
//
//	for device in rxe siw; do
//		TESTBED_DEVICE=$device TESTBED_SHARE="$PWD/docs" go test -count=1 -exec "$PWD/scripts/testbed" ./scripts/trials/conformance \
//			-report "$PWD/docs/reference/conformance.md"
//	done
package conformance
