package logs

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"dragoman/configs"
	"dragoman/core/display"
)

// Log is the program's own log: lines for people on standard error, JSON in a file. It never uses
// standard output, which belongs to the protocols.
type Log struct {
	Logger *zap.Logger

	options Options
	level   zap.AtomicLevel
	out     *writer
	form    *atomic.Pointer[zapcore.Encoder] // of lines; it depends on the output
	file    *os.File                         // nil: standard error
}

// Options are the initial settings of the log. Empty ones follow the configuration.
type Options struct {
	Level string      // the least severe one in the log
	File  string      // the file to append to, as JSON
	Err   io.Writer   // the output for lines without a file
	Env   configs.Env // resolves the references in the configuration
}

// quietLevel is the level until the configuration or a flag sets another.
const quietLevel = zapcore.WarnLevel

// Open starts the log with the options. The configuration's settings apply once the configuration
// is read.
func Open(o Options) (*Log, error) {
	l := &Log{
		options: o,
		level:   zap.NewAtomicLevelAt(quietLevel),
		form:    &atomic.Pointer[zapcore.Encoder]{},
	}
	if o.Level != "" {
		level, err := ParseLevel(o.Level)
		if err != nil {
			return nil, err
		}
		l.level.SetLevel(level)
	}
	out := o.Err
	l.form.Store(consoleForm())
	if o.File != "" {
		f, err := openFile(o.File)
		if err != nil {
			return nil, err
		}
		out, l.file = f, f
		l.form.Store(jsonForm())
	}
	l.out = newWriter(out, l.lost)
	l.Logger = zap.New(&zapCore{LevelEnabler: l.level, log: l}, zap.ErrorOutput(zapcore.AddSync(l.out)))
	l.out.start()
	return l, nil
}

// Follow applies the configuration's log section, except where options are set.
func (l *Log) Follow(c configs.Log) {
	if l.options.Level == "" {
		if level, err := ParseLevel(c.Level); err == nil {
			l.level.SetLevel(level)
		}
	}
	if l.options.File != "" || l.file != nil {
		return
	}
	path, err := c.File.ResolvePath(l.options.Env)
	if err == nil && path == "" {
		return
	}
	var f *os.File
	if err == nil {
		f, err = openFile(path)
	}
	if err != nil {
		l.Logger.Warn("the log stays on standard error", zap.Error(err))
		return
	}
	l.file = f
	l.form.Store(jsonForm())
	l.out.redirect(f)
}

// Close writes the remaining lines, if they can be written, and closes the file.
func (l *Log) Close() {
	if l.file == nil {
		l.out.close(drainFor)
	} else if l.out.close(storeFor) {
		l.file.Close() //nolint:errcheck // there is no place left to report it
	}
}

// lost returns the line that replaces dropped lines.
func (l *Log) lost(n int) []byte {
	e := zapcore.Entry{
		Level:   zapcore.WarnLevel,
		Time:    time.Now(),
		Message: "lines of this log were lost: they were not written in time",
	}
	buf, err := (*l.form.Load()).EncodeEntry(e, []zapcore.Field{zap.Int("lost", n)})
	if err != nil {
		return nil
	}
	return buf.Bytes()
}

// zapCore encodes entries in the current form when they are written.
type zapCore struct {
	zapcore.LevelEnabler
	log    *Log
	fields []zapcore.Field
}

// With implements zapcore.Core.
func (c *zapCore) With(fields []zapcore.Field) zapcore.Core {
	return &zapCore{c.LevelEnabler, c.log, slices.Concat(c.fields, fields)}
}

// Check implements zapcore.Core.
func (c *zapCore) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return ce.AddCore(e, c)
	}
	return ce
}

// Write implements zapcore.Core. It never waits.
func (c *zapCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	buf, err := (*c.log.form.Load()).EncodeEntry(e, slices.Concat(c.fields, fields))
	if err != nil {
		return err
	}
	defer buf.Free()
	_, err = c.log.out.Write(display.Escaped(buf.Bytes()))
	return err
}

// Sync implements zapcore.Core. Only the end waits for the writer.
func (c *zapCore) Sync() error { return nil }

func baseForm() zapcore.EncoderConfig {
	c := zap.NewProductionEncoderConfig()
	c.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	c.TimeKey = "time"
	return c
}

func jsonForm() *zapcore.Encoder {
	e := zapcore.NewJSONEncoder(baseForm())
	return &e
}

func consoleForm() *zapcore.Encoder {
	c := baseForm()
	c.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05.000")
	c.EncodeLevel = zapcore.CapitalLevelEncoder
	c.ConsoleSeparator = " "
	e := zapcore.NewConsoleEncoder(c)
	return &e
}

// ParseLevel accepts the configuration's words for levels, in any case.
func ParseLevel(s string) (zapcore.Level, error) {
	level, err := zapcore.ParseLevel(cmp.Or(s, quietLevel.String()))
	if err != nil || level > zapcore.ErrorLevel {
		return quietLevel, fmt.Errorf("log level %q: want debug, info, warn or error", s)
	}
	return level, nil
}

// openFile opens a log for appending, readable only by its owner.
func openFile(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("open the log file: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log file: %w", err)
	}
	return f, nil
}

var _ io.Writer = (*writer)(nil)
