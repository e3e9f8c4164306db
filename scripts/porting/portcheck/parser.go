//go:build cgo

package main

import (
	"fmt"

	sitter "github.com/tree-sitter/go-tree-sitter"
	grammar "github.com/tree-sitter/tree-sitter-c/bindings/go"
)

// parser parses C.
type parser struct{ *sitter.Parser }

func newParser() (parser, error) {
	p := sitter.NewParser()
	if err := p.SetLanguage(sitter.NewLanguage(grammar.Language())); err != nil {
		p.Close()
		return parser{}, fmt.Errorf("the grammar of C: %w", err)
	}
	return parser{p}, nil
}

// tree parses text that begins at an offset of its file.
func (p parser) tree(text []byte, offset int) *node {
	tree := p.Parse(text, nil)
	defer tree.Close()
	cursor := tree.Walk()
	defer cursor.Close()
	return convert(cursor, string(text), offset, nil)
}

func convert(cursor *sitter.TreeCursor, text string, offset int, parent *node) *node {
	tn := cursor.Node()
	n := &node{
		kind: tn.Kind(), field: cursor.FieldName(), text: text[tn.StartByte():tn.EndByte()], offset: offset + int(tn.StartByte()),
		broken: tn.IsError() || tn.IsMissing(), parent: parent,
	}
	if cursor.GotoFirstChild() {
		for ok := true; ok; ok = cursor.GotoNextSibling() {
			if child := cursor.Node(); child.IsNamed() || child.IsMissing() || cursor.FieldName() == "operator" {
				n.children = append(n.children, convert(cursor, text, offset, n))
			}
		}
		cursor.GotoParent()
	}
	return n
}
