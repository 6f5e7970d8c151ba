package bench

import (
	"errors"
	"fmt"
	"time"
)

// ErrOption marks options, job files and sections that cannot be meant.
var ErrOption = errors.New("bad option")

// optionError is a message that matches ErrOption without repeating it.
type optionError struct{ err error }

func (e optionError) Error() string        { return e.err.Error() }
func (e optionError) Unwrap() error        { return e.err }
func (e optionError) Is(target error) bool { return target == ErrOption }

func optionf(format string, args ...any) error { return optionError{fmt.Errorf(format, args...)} }

// Settings are the options of one section, each checked by its row.
type Settings struct {
	Workload *Workload
	words    map[string]string // as given
	values   map[string]any    // by the row's name; defaults included
}

// NewSettings are a workload's defaults.
func NewSettings(workload string) (*Settings, error) {
	w, err := findWorkload(workload)
	if err != nil {
		return nil, err
	}
	s := &Settings{Workload: w, words: map[string]string{}, values: map[string]any{}}
	for _, o := range OptionsOf(workload) {
		if o.Default == "" {
			continue
		}
		v, err := o.parse(o.Default)
		if err != nil {
			panic("bench: the default of " + o.Name + ": " + err.Error())
		}
		s.values[o.Name] = v
	}
	return s, nil
}

// option finds the row for a name or an alias.
func (s *Settings) option(name string) (*Option, error) {
	rows, err := OptionsNamed(name)
	if err != nil {
		return nil, err
	}
	for _, o := range rows {
		if o.has(s.Workload.Name) {
			return o, nil
		}
	}
	return nil, optionf("workload %s has no option %q; it is one of %s", s.Workload.Name, name, rows[0].workloadText())
}

// Set gives an option, by its name or an alias, the value that the word stands
// for.
func (s *Settings) Set(name, word string) error {
	o, err := s.option(name)
	if err != nil {
		return err
	}
	if word == "" && o.Kind.Name == kindBool.Name {
		word = "true" // as fio: the bare name switches on
	}
	v, err := o.parse(word)
	if err != nil {
		return optionf("%s: %w", name, err)
	}
	s.words[o.Name], s.values[o.Name] = word, v
	return nil
}

// Given are the options that were set, as they were written.
func (s *Settings) Given() map[string]string { return s.words }

// Get is the value of an option in words: what was given, or the default.
func (s *Settings) Get(name string) string {
	o, err := s.option(name)
	if err != nil {
		return ""
	}
	if w, ok := s.words[o.Name]; ok {
		return w
	}
	return o.Default
}

// value is an option's value, or the zero of its type where it has neither a
// value nor a default.
func value[T any](s *Settings, name string) T {
	v, _ := s.values[name].(T)
	return v
}

func (s *Settings) int(name string) int                { return int(value[int64](s, name)) }
func (s *Settings) int64(name string) int64            { return value[int64](s, name) }
func (s *Settings) uint64(name string) uint64          { return value[uint64](s, name) }
func (s *Settings) on(name string) bool                { return value[bool](s, name) }
func (s *Settings) text(name string) string            { return value[string](s, name) }
func (s *Settings) duration(name string) time.Duration { return value[time.Duration](s, name) }
