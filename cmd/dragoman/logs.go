package main

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

// logs is the program's own log: lines for people on standard error, JSON in a
// file. Nothing of it ever goes to standard output, which belongs to the
// protocols.
type logs struct {
	logger *zap.Logger

	options logOptions
	level   zap.AtomicLevel
	out     *logWriter
	form    *atomic.Pointer[zapcore.Encoder] // of lines; it changes with where they go
	file    *os.File                         // nil: standard error
}

// logOptions say where the log begins. What is empty follows the configuration.
type logOptions struct {
	level string // the least severe one that is logged
	file  string
	errs  io.Writer // takes the lines while there is no file
	env   configs.Env
}

// quietLevel holds until the configuration or a flag says otherwise.
const quietLevel = zapcore.WarnLevel

// openLog starts the log as the options say. What the configuration says about it
// is followed once the configuration is read.
func openLog(o logOptions) (*logs, error) {
	l := &logs{options: o, level: zap.NewAtomicLevelAt(quietLevel), form: &atomic.Pointer[zapcore.Encoder]{}}
	if o.level != "" {
		level, err := parseLevel(o.level)
		if err != nil {
			return nil, err
		}
		l.level.SetLevel(level)
	}
	out := o.errs
	l.form.Store(consoleForm())
	if o.file != "" {
		f, err := openLogFile(o.file)
		if err != nil {
			return nil, err
		}
		out, l.file = f, f
		l.form.Store(jsonForm())
	}
	l.out = newLogWriter(out, l.lost)
	l.logger = zap.New(&logCore{LevelEnabler: l.level, logs: l}, zap.ErrorOutput(zapcore.AddSync(l.out)))
	l.out.start()
	return l, nil
}

// follow applies the configuration's log section, where no option says otherwise.
func (l *logs) follow(c configs.Log) {
	if l.options.level == "" {
		if level, err := parseLevel(c.Level); err == nil {
			l.level.SetLevel(level)
		}
	}
	if l.options.file != "" || l.file != nil {
		return
	}
	path, err := c.File.ResolvePath(l.options.env)
	if err == nil && path == "" {
		return
	}
	var f *os.File
	if err == nil {
		f, err = openLogFile(path)
	}
	if err != nil {
		l.logger.Warn("the log stays on standard error", zap.Error(err))
		return
	}
	l.file = f
	l.form.Store(jsonForm())
	l.out.redirect(f)
}

// close writes what is left, if somebody takes it, and closes the file.
func (l *logs) close() {
	if l.out.close(drainFor) && l.file != nil {
		l.file.Close() //nolint:errcheck // there is nowhere left to say it
	}
}

// lost is the line that stands for lines that were dropped.
func (l *logs) lost(n int) []byte {
	e := zapcore.Entry{Level: zapcore.WarnLevel, Time: time.Now(), Message: "lines of this log were lost: nobody took them in time"}
	buf, err := (*l.form.Load()).EncodeEntry(e, []zapcore.Field{zap.Int("lost", n)})
	if err != nil {
		return nil
	}
	return buf.Bytes()
}

// logCore encodes entries in the form that holds when they are written.
type logCore struct {
	zapcore.LevelEnabler
	logs   *logs
	fields []zapcore.Field
}

// With implements zapcore.Core.
func (c *logCore) With(fields []zapcore.Field) zapcore.Core {
	return &logCore{c.LevelEnabler, c.logs, slices.Concat(c.fields, fields)}
}

// Check implements zapcore.Core.
func (c *logCore) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return ce.AddCore(e, c)
	}
	return ce
}

// Write implements zapcore.Core. It never waits.
func (c *logCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	buf, err := (*c.logs.form.Load()).EncodeEntry(e, slices.Concat(c.fields, fields))
	if err != nil {
		return err
	}
	defer buf.Free()
	_, err = c.logs.out.Write(display.Escaped(buf.Bytes()))
	return err
}

// Sync implements zapcore.Core. Only the end waits for the writer.
func (c *logCore) Sync() error { return nil }

func logForm() zapcore.EncoderConfig {
	c := zap.NewProductionEncoderConfig()
	c.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	c.TimeKey = "time"
	return c
}

func jsonForm() *zapcore.Encoder {
	e := zapcore.NewJSONEncoder(logForm())
	return &e
}

func consoleForm() *zapcore.Encoder {
	c := logForm()
	c.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05.000")
	c.EncodeLevel = zapcore.CapitalLevelEncoder
	c.ConsoleSeparator = " "
	e := zapcore.NewConsoleEncoder(c)
	return &e
}

// parseLevel takes the words of the configuration, in any case.
func parseLevel(s string) (zapcore.Level, error) {
	level, err := zapcore.ParseLevel(cmp.Or(s, quietLevel.String()))
	if err != nil || level > zapcore.ErrorLevel {
		return quietLevel, fmt.Errorf("log level %q: want debug, info, warn or error", s)
	}
	return level, nil
}

// openLogFile opens a log for appending, for its owner's eyes only.
func openLogFile(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("open the log file: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log file: %w", err)
	}
	return f, nil
}

var _ io.Writer = (*logWriter)(nil)
