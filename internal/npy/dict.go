package npy

import (
	"fmt"
	"strconv"
	"strings"
)

// parseDict reads the Python literal of a header: a dict of three entries, in
// any order.
func parseDict(text string) (Header, error) {
	var h Header
	p := parser{rest: text}
	seen := map[string]bool{}
	p.expect("{")
	for p.err == nil && !p.take("}") {
		key := p.str()
		p.expect(":")
		if seen[key] {
			p.fail("a second '%s'", key)
		}
		seen[key] = true
		p.entry(&h, key)
		if !p.take(",") && !p.at("}") {
			p.fail("',' or '}' expected")
		}
	}
	p.skip()
	if p.err == nil && p.rest != "" {
		p.fail("text after the dict")
	}
	for _, key := range []string{"descr", "fortran_order", "shape"} {
		if p.err == nil && !seen[key] {
			p.fail("no '%s'", key)
		}
	}
	return h, p.err
}

// parser consumes a literal from the left. Its first error sticks, and empties
// what is left, so that loops end.
type parser struct {
	rest string
	err  error
}

func (p *parser) fail(format string, args ...any) {
	p.set(fmt.Errorf("%w: damaged header: %s; save the array again with numpy.save", ErrFormat, fmt.Sprintf(format, args...)))
}

func (p *parser) set(err error) {
	if p.err == nil {
		p.err = err
	}
	p.rest = ""
}

func (p *parser) skip() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

func (p *parser) at(token string) bool {
	p.skip()
	return strings.HasPrefix(p.rest, token)
}

func (p *parser) take(token string) bool {
	if !p.at(token) {
		return false
	}
	p.rest = p.rest[len(token):]
	return true
}

func (p *parser) expect(token string) {
	if !p.take(token) {
		p.fail("'%s' expected", token)
	}
}

func (p *parser) entry(h *Header, key string) {
	switch key {
	case "descr":
		p.descr(h)
	case "fortran_order":
		h.Fortran = p.boolean()
	case "shape":
		h.Shape = p.tuple()
	default:
		p.fail("unknown entry %q", key)
	}
}

func (p *parser) str() string {
	p.skip()
	if p.rest == "" || (p.rest[0] != '\'' && p.rest[0] != '"') {
		p.fail("a quoted word expected")
		return ""
	}
	end := strings.IndexByte(p.rest[1:], p.rest[0])
	if end < 0 {
		p.fail("a quote is not closed")
		return ""
	}
	s := p.rest[1 : 1+end]
	p.rest = p.rest[end+2:]
	return s
}

func (p *parser) boolean() bool {
	switch {
	case p.take("True"):
		return true
	case p.take("False"):
	default:
		p.fail("True or False expected")
	}
	return false
}

func (p *parser) tuple() []int64 {
	p.expect("(")
	shape := []int64{}
	for p.err == nil && !p.take(")") {
		shape = append(shape, p.integer())
		if !p.take(",") && !p.at(")") {
			p.fail("',' or ')' expected in the shape")
		}
	}
	return shape
}

func (p *parser) integer() int64 {
	p.skip()
	end := strings.IndexFunc(p.rest, func(r rune) bool { return r != '-' && (r < '0' || r > '9') })
	if end < 0 {
		end = len(p.rest)
	}
	word := p.rest[:end]
	p.rest = p.rest[end:]
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		p.fail("%q is no length", word)
	}
	p.rest = strings.TrimPrefix(p.rest, "L") // written by Python 2
	return n
}

func (p *parser) descr(h *Header) {
	if p.at("[") {
		p.set(fmt.Errorf("%w: the array is structured (it has named fields); save one field as a plain array", ErrFormat))
		return
	}
	word := p.str()
	if p.err != nil {
		return
	}
	order, code := byte('|'), word
	if word != "" && strings.IndexByte("<>|=", word[0]) >= 0 {
		order, code = word[0], word[1:]
	}
	for _, d := range dtypes {
		if d.code == code {
			h.DType, h.Size = d.name, d.size
			h.BigEndian = order == '>' && d.size > 1
			return
		}
	}
	p.set(refuse(word, code))
}

// refuse names the remedy for a dtype that is not read.
func refuse(word, code string) error {
	kind := byte(0)
	if code != "" {
		kind = code[0]
	}
	why := "this dtype is not read; save it as a bool, integer or float array"
	switch kind {
	case 'O':
		why = "the array holds Python objects, which only Python can read; convert it with .astype to an integer or float dtype"
	case 'U', 'S', 'a':
		why = "the array holds text; convert it with .astype to an integer or float dtype"
	case 'c':
		why = "the array holds complex numbers; save .real and .imag as two arrays"
	case 'M', 'm':
		why = "the array holds times; convert it with .astype(numpy.int64)"
	}
	return fmt.Errorf("%w: dtype %q: %s", ErrFormat, word, why)
}
