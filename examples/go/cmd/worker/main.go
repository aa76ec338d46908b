// Command worker serves the standard tools of docs/conformance.md.
package main

import (
	"cmp"
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"

	"example.com/spindle/worker"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	flush, err := exportSpans(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer flush()
	err = worker.Serve(ctx, worker.Options{
		Address:     cmp.Or(os.Getenv("SPINDLE_ADDRESS"), "127.0.0.1:7433"),
		Name:        "example-go",
		Tools:       standardTools,
		MaxInFlight: 16,
	})
	if err != nil {
		flush()
		log.Fatal(err)
	}
}
