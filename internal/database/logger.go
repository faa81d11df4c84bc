package database

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/dgraph-io/badger/v4"
)

// logger hands Badger's messages to slog. Badger's information is about its own
// tables, so it is debugging to us.
type logger struct{ to *slog.Logger }

var _ badger.Logger = logger{}

func newLogger(to *slog.Logger) logger {
	if to == nil {
		to = slog.New(slog.DiscardHandler)
	}
	return logger{to: to.With("component", "badger")}
}

func (l logger) Errorf(format string, args ...any) {
	l.to.Error("The database reports an error.", "message", text(format, args))
}

func (l logger) Warningf(format string, args ...any) {
	l.to.Warn("The database warns.", "message", text(format, args))
}

func (l logger) Infof(format string, args ...any) {
	l.to.Debug("The database informs.", "message", text(format, args))
}

func (l logger) Debugf(format string, args ...any) {
	l.to.Debug("The database informs.", "message", text(format, args))
}

func text(format string, args []any) string {
	return strings.TrimSpace(fmt.Sprintf(format, args...))
}
