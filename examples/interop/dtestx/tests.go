package main

import (
	"context"
	"fmt"
)

// test runs the tests in turn, on an established connection.
func (n *node) test(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := n.exchangePlaces(ctx); err != nil {
		return err
	}
	for _, test := range []struct {
		name, capability string
		run              func(context.Context) error
	}{
		{"RDMA_WRITE_WITH_IMMEDIATE_DATA", "", n.writeImmediate},
		{"CMP_SWAP", "DAT_IB_CMP_AND_SWAP", n.compareAndSwap},
		{"FETCH_ADD", "DAT_IB_FETCH_AND_ADD", n.fetchAndAdd},
	} {
		if test.capability != "" && !n.can(test.capability) {
			say("\n %s test - skipped: the provider says that the adapter cannot do it", test.name)
			continue
		}
		say("")
		if err := test.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", test.name, err)
		}
		say("\n %s test - PASSED", test.name)
	}
	return nil
}
