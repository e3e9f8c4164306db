package udat

import "iter"

// smallSet is a set that needs no memory of its own while it has one member, which most of them have. The zero value of T
// is never a member.
type smallSet[T comparable] struct {
	first  T
	others map[T]struct{}
}

func (s *smallSet[T]) has(member T) bool {
	var none T
	if s.first == member {
		return member != none
	}
	_, found := s.others[member]
	return found
}

func (s *smallSet[T]) add(member T) {
	var none T
	switch {
	case s.has(member):
	case s.first == none:
		s.first = member
	default:
		if s.others == nil {
			s.others = make(map[T]struct{})
		}
		s.others[member] = struct{}{}
	}
}

func (s *smallSet[T]) remove(member T) {
	if s.first == member {
		var none T
		s.first = none
		return
	}
	delete(s.others, member)
}

// all gives the members in no order. Nothing may be added meanwhile.
func (s *smallSet[T]) all() iter.Seq[T] {
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
