"""Calls a tool and watches it: run caller NAME JSON. SPINDLE_ADDRESS names the engine."""

import os
import sys

import grpc
from spindle.v1 import tool_service_pb2, tool_service_pb2_grpc


def main(name: str, arguments: str = "{}") -> int:
    with grpc.insecure_channel(os.environ.get("SPINDLE_ADDRESS", "127.0.0.1:7433")) as channel:
        tools = tool_service_pb2_grpc.ToolServiceStub(channel)
        call = tool_service_pb2.CallToolRequest(name=name, arguments=arguments)
        for response in tools.StreamCallTool(tool_service_pb2.StreamCallToolRequest(call=call)):
            update = response.update
            match update.WhichOneof("kind"):
                case "progress":
                    print(update.progress.activity, file=sys.stderr)
                case "finished" if update.finished.HasField("error"):
                    print(f"{update.finished.error.code}: {update.finished.error.message}", file=sys.stderr)
                    return 1
                case "finished":
                    for block in update.finished.result.content:
                        print(block.text.text or block)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
