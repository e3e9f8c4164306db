// Package smallset has sets that have one member most of the time.
package smallset

import "iter"

// Set is a set that needs no memory of its own while it has one member, which most of them have. The zero value of T
// is never a member.
type Set[T comparable] struct {
	first  T
	others map[T]struct{}
}

// Has reports whether the set has the member.
func (s *Set[T]) Has(member T) bool {
	var none T
	if s.first == member {
		return member != none
	}
	_, found := s.others[member]
	return found
}

// Add adds a member.
func (s *Set[T]) Add(member T) {
	var none T
	switch {
	case s.Has(member):
	case s.first == none:
		s.first = member
	default:
		if s.others == nil {
			s.others = make(map[T]struct{})
		}
		s.others[member] = struct{}{}
	}
}

// Remove removes a member.
func (s *Set[T]) Remove(member T) {
	if s.first == member {
		var none T
		s.first = none
		return
	}
	delete(s.others, member)
}

// All returns the members, in no order. Nothing may be added during the iteration.
func (s *Set[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		var none T
		if s.first != none && !yield(s.first) {
			return
		}
		for member := range s.others {
			if !yield(member) {
				return
			}
		}
	}
}
