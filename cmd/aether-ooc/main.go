// Command aether-ooc builds, checks, samples, serves and measures graphs that
// do not fit in memory. It parses flags and prints results; the work is done
// by the packages below it. One file per subcommand.
package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, nil))) // for what no logger was handed to
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends at once, as where a pipe that we read from never speaks
	code := execute(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(code)
}
