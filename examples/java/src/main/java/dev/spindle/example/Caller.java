package dev.spindle.example;

import dev.spindle.v1.CallToolRequest;
import dev.spindle.v1.CallToolResponse;
import dev.spindle.v1.CallUpdate;
import dev.spindle.v1.Content;
import dev.spindle.v1.StreamCallToolRequest;
import dev.spindle.v1.ToolServiceGrpc;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import java.util.Optional;

/** Calls a tool by its name and watches its progress: {@code caller add '{"a":1,"b":2}'}. */
public final class Caller {
  private Caller() {}

  public static void main(String[] args) {
    if (args.length != 2) throw new IllegalArgumentException("give the name of a tool and its arguments as JSON");
    String address = Optional.ofNullable(System.getenv("SPINDLE_ADDRESS")).orElse("127.0.0.1:7433");
    var tools = ToolServiceGrpc.newBlockingStub(
        Grpc.newChannelBuilder(address, InsecureChannelCredentials.create()).build());
    var call = CallToolRequest.newBuilder().setName(args[0]).setArguments(args[1]);
    var updates = tools.streamCallTool(StreamCallToolRequest.newBuilder().setCall(call).build());
    while (updates.hasNext()) {
      CallUpdate update = updates.next().getUpdate();
      if (update.hasProgress()) System.err.println(update.getProgress().getActivity());
      if (update.hasFinished()) print(update.getFinished());
    }
  }

  private static void print(CallToolResponse finished) {
    if (finished.hasError()) {
      System.err.println(finished.getError().getCode() + ": " + finished.getError().getMessage());
      System.exit(1);
    }
    for (Content block : finished.getResult().getContentList()) {
      System.out.println(block.hasText() ? block.getText().getText() : block);
    }
  }
}
