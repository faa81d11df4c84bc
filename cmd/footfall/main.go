// Command footfall counts the unique visitors of documentation sites, human and
// AI. Each subcommand is a file of its name; app.go wires what they share.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"footfall/agentjobs/sandbox"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == sandbox.InitCommand {
		os.Exit(sandbox.Init(os.Args[2:])) // The first process of an agent's sandbox.
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := newRoot().ExecuteContext(ctx)
	switch {
	case err == nil:
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		os.Exit(130) // Interrupted, as shells have it: 128 and the signal's number.
	default:
		fmt.Fprintln(os.Stderr, "footfall:", err)
		os.Exit(1)
	}
}
