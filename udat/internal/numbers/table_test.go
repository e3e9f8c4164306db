package numbers

import "testing"

func TestTable(t *testing.T) {
	var table Table[int]
	if table.Numbered(0) != nil || table.All() != nil {
		t.Error("an empty table has an object")
	}
	objects := make([]int, 3*firstSlots)
	owner := map[uint32]*int{}
	for i := range objects {
		number, ok := table.Add(&objects[i])
		if !ok || owner[number] != nil {
			t.Fatalf("object %d has number %d, %t", i, number, ok)
		}
		owner[number] = &objects[i]
	}
	for number, object := range owner {
		if table.Numbered(number) != object {
			t.Fatalf("number %d belongs to another object", number)
		}
	}
	if got := len(table.All()); got != len(objects) {
		t.Errorf("the table has %d objects, want %d", got, len(objects))
	}
	if table.Numbered(None) != nil {
		t.Error("an object has the number None")
	}
	const gone = 7
	table.Hide(gone)
	if table.Numbered(gone) != nil {
		t.Error("a hidden object is found")
	}
	for range firstSlots * 4 { // no object gets the number before it is released
		var another int
		if number, _ := table.Add(&another); number == gone {
			t.Fatal("another object has got the number of a hidden one")
		}
	}
	table.Release(gone)
	for range 10 * firstSlots {
		var another int
		if number, _ := table.Add(&another); number == gone {
			return
		}
	}
	t.Error("no object gets the number that was released")
}
