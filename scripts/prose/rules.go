package main

import "regexp"

// A rule is a phrase to avoid.
type rule struct {
	phrase   *regexp.Regexp
	instead  string
	comments bool // in comments only
}

func phrase(expression string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(` + expression + `)\b`)
}

var rules = []rule{
	{phrase: phrase(`gives( back)? (a|an|the|its|their|what|how|nil|it|them|those|Err\w*)`), instead: `"returns", "reports" or "is"`, comments: true},
	{phrase: phrase(`for ever`), instead: `"forever"`},
	{phrase: phrase(`in place of`), instead: `"instead of"`},
	{phrase: phrase(`all the same`), instead: `"anyway" or "still"`},
	{phrase: phrase(`at no time`), instead: `"never"`},
	{phrase: phrase(`to be had`), instead: `"available"`},
	{phrase: phrase(`need not`), instead: `"does not need to"`},
	{phrase: phrase(`lest|whereupon|thereby|therein|thereof|hence|ought to|likewise`), instead: "shorter words"},
	{phrase: phrase(`nor (does|do|did|is|are|was|were|has|have|can|could|may|will|would)`), instead: "the subject before the verb, in a sentence of its own"},
	{phrase: phrase(`(and|but|,) so (is|are|was|were|does|do|did|has|have|can|could|may|will|would) (the|a|an|it|that|those|this|they|what|one|all|each)`), instead: "the subject before the verb"},
	{phrase: phrase(`some say|who(ever)? (asks|wants) (for )?(it|that)`), instead: "who does what"},
	{phrase: phrase(`utili[sz]e[sd]?`), instead: `"use"`},
	{phrase: phrase(`(very|quite|really|simply|obviously|of course)`), instead: "nothing"},
}
