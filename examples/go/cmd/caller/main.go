// Command caller calls a tool and watches it: caller NAME [JSON]. SPINDLE_ADDRESS names the engine.
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"os"

	spindlev1 "example.com/spindle/gen/spindle/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

func main() {
	if len(os.Args) < 2 {
		log.Fatal("usage: caller NAME [JSON]")
	}
	arguments := "{}"
	if len(os.Args) > 2 {
		arguments = os.Args[2]
	}
	if err := call(context.Background(), os.Args[1], arguments); err != nil {
		log.Fatal(err)
	}
}

func call(ctx context.Context, name, arguments string) error {
	address := cmp.Or(os.Getenv("SPINDLE_ADDRESS"), "127.0.0.1:7433")
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	request := &spindlev1.StreamCallToolRequest{Call: &spindlev1.CallToolRequest{Name: name, Arguments: arguments}}
	updates, err := spindlev1.NewToolServiceClient(conn).StreamCallTool(ctx, request)
	if err != nil {
		return err
	}
	for {
		response, err := updates.Recv()
		if err != nil {
			return err
		}
		switch kind := response.GetUpdate().GetKind().(type) {
		case *spindlev1.CallUpdate_Progress:
			fmt.Fprintln(os.Stderr, kind.Progress.GetActivity())
		case *spindlev1.CallUpdate_Finished:
			return show(kind.Finished)
		}
	}
}

func show(finished *spindlev1.CallToolResponse) error {
	if failure := finished.GetError(); failure != nil {
		return fmt.Errorf("%s: %s", failure.GetCode(), failure.GetMessage())
	}
	for _, block := range finished.GetResult().GetContent() {
		if text := block.GetText(); text != nil {
			fmt.Println(text.GetText())
		} else {
			fmt.Println(block)
		}
	}
	return nil
}
