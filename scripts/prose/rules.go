package main

import "regexp"

// A rule is a phrase to avoid.
type rule struct {
	phrase   *regexp.Regexp
	instead  string
	comments bool           // in comments only
	except   *regexp.Regexp // what may stay, from the beginning of the phrase on; nil for nothing
}

func phrase(expression string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(` + expression + `)\b`)
}

var rules = []rule{
	{phrase: phrase(`gives?( back)? \w+`), instead: `"returns", "reports" or "is"`, comments: true,
		except: phrase(`gives? (up|way|both|sends|(\w+ ){1,5}to)`)},
	{phrase: phrase(`tells? (whether|of|apart)`), instead: `"reports" or "says"`},
	{phrase: phrase(`takes? down`), instead: `"records"`},
	{phrase: phrase(`for ever`), instead: `"forever"`},
	{phrase: phrase(`in (the )?place of`), instead: `"instead of"`},
	{phrase: phrase(`all the same`), instead: `"anyway" or "still"`},
	{phrase: phrase(`at no time`), instead: `"never"`},
	{phrase: phrase(`to be had|(can|could|may|cannot) be had`), instead: `"available"`},
	{phrase: phrase(`need not`), instead: `"does not need to"`},
	{phrase: phrase(`(made|make|makes|making) (it |them |that )?good`), instead: `"cure"`},
	{phrase: phrase(`without a word`), instead: `"silently"`},
	{phrase: phrase(`for want of`), instead: `"for lack of"`},
	{phrase: phrase(`lest|whereupon|thereby|therein|thereof|hence|ought to|likewise|anew|afar|be they|all in all`), instead: "shorter words"},
	{phrase: phrase(`(is|are|be|was) (needed|wanted|used|found|read|waited for|asked for) no more|no more (is|are) (needed|wanted|used)`), instead: `"no longer"`},
	{phrase: phrase(`what (becomes|became|comes|came|has become|will become) of|came of it|comes of it`), instead: `"the result of"`},
	{phrase: phrase(`(for|to|by|from|of|with|tells|asks) who`), instead: `"whoever", or who it is`},
	{phrase: phrase(`so (many|much) \w+`), instead: "how many", comments: true, except: phrase(`so (many|much) (that|for|as)`)},
	{phrase: phrase(`stands? (beside|behind|before|between|there|elsewhere)`), instead: `"is"`},
	{phrase: phrase(`of which (each|none|one|the|all|only|two|a|an|no|it|they|there|some|any)`), instead: "a sentence of its own"},
	{phrase: phrase(`nor (does|do|did|is|are|was|were|has|have|can|could|may|will|would)`), instead: "the subject before the verb, in a sentence of its own"},
	{phrase: phrase(`(and|but|,) so (is|are|was|were|does|do|did|has|have|can|could|may|will|would) (the|a|an|it|that|those|this|they|what|one|all|each)`), instead: "the subject before the verb"},
	{phrase: phrase(`(were|had|should) (it|they|one|the \w+) (to )?(be|begin|end|come|go|have)`), instead: `"if"`},
	{phrase: phrase(`some say|who(ever)? (asks|wants) (for )?(it|that)`), instead: "who does what"},
	{phrase: phrase(`utili[sz]e[sd]?`), instead: `"use"`},
	{phrase: phrase(`(very|quite|really|simply|obviously|of course)`), instead: "nothing"},
}

// found returns the phrases of a text that the rule is about.
func (r rule) found(text string) (phrases []string) {
	for _, at := range r.phrase.FindAllStringIndex(text, -1) {
		if r.except != nil {
			if exception := r.except.FindStringIndex(text[at[0]:]); exception != nil && exception[0] == 0 {
				continue
			}
		}
		phrases = append(phrases, text[at[0]:at[1]])
	}
	return phrases
}
