package useragent

import (
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// maxTexts bounds how many texts an expression is spelled out to. The longest
// in use is (sistrix|SISTRIX) [cC]rawler with 4.
const maxTexts = 16

// requiredLiterals returns literals, each at least minLength bytes long, one of
// which stands in every text that re matches. It is nil where re has none; re must be simplified.
func requiredLiterals(re *syntax.Regexp, minLength int) []string {
	literals := required(re)
	if shortest(literals) < minLength {
		return nil
	}
	return literals
}

// required returns the best literals found: those whose shortest is longest.
func required(re *syntax.Regexp) []string {
	if all := texts(re); all != nil {
		return all
	}
	switch re.Op {
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpAlternate:
		var union []string
		for _, sub := range re.Sub {
			literals := required(sub)
			if literals == nil {
				return nil
			}
			union = append(union, literals...)
		}
		return union
	case syntax.OpConcat:
		return requiredOfConcat(re.Sub)
	}
	return nil
}

// requiredOfConcat joins neighbours that can be spelled out to longer literals.
func requiredOfConcat(subs []*syntax.Regexp) []string {
	var best []string
	consider := func(literals []string) {
		if shortest(literals) > shortest(best) {
			best = literals
		}
	}
	run := []string{""}
	for _, sub := range subs {
		next := texts(sub)
		if joined := product(run, next); joined != nil {
			run = joined
			continue
		}
		consider(run)
		if next == nil {
			consider(required(sub))
			next = []string{""}
		}
		run = next
	}
	consider(run)
	return best
}

// texts returns all texts that re can consume, or more; nil means that there
// are too many to spell out. An assertion such as ^ consumes the empty text.
func texts(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText,
		syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return []string{""}
	case syntax.OpCapture:
		return texts(re.Sub[0])
	case syntax.OpLiteral:
		all := []string{""}
		for _, r := range re.Rune {
			all = product(all, spellings(r, re.Flags&syntax.FoldCase != 0))
		}
		return all
	case syntax.OpCharClass:
		var all []string
		for i := 0; i+1 < len(re.Rune); i += 2 {
			low, high := re.Rune[i], re.Rune[i+1]
			if int(high-low) >= maxTexts-len(all) {
				return nil
			}
			for r := low; r <= high; r++ {
				one := spellings(r, false)
				if one == nil {
					return nil
				}
				all = append(all, one...)
			}
		}
		return all
	case syntax.OpConcat:
		all := []string{""}
		for _, sub := range re.Sub {
			all = product(all, texts(sub))
		}
		return all
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			one := texts(sub)
			if one == nil || len(all)+len(one) > maxTexts {
				return nil
			}
			all = append(all, one...)
		}
		return all
	case syntax.OpQuest:
		if one := texts(re.Sub[0]); one != nil && len(one) < maxTexts {
			return append(slices.Clone(one), "")
		}
	}
	return nil
}

// spellings returns what r is written as; with fold, in any case. It is nil for
// U+FFFD, which also matches every byte that is not UTF-8.
func spellings(r rune, fold bool) []string {
	if r == utf8.RuneError {
		return nil
	}
	all := []string{string(r)}
	if fold {
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			all = append(all, string(f))
		}
	}
	return all
}

// product returns each of a followed by each of b, nil when either is nil or
// they are more than maxTexts.
func product(a, b []string) []string {
	if len(a)*len(b) > maxTexts {
		return nil
	}
	var all []string
	for _, head := range a {
		for _, tail := range b {
			all = append(all, head+tail)
		}
	}
	return all
}

// shortest returns the length of the shortest of texts, 0 when there are none.
func shortest(texts []string) int {
	if len(texts) == 0 {
		return 0
	}
	length := len(texts[0])
	for _, text := range texts[1:] {
		length = min(length, len(text))
	}
	return length
}
