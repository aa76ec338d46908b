package dev.spindle.example;

import com.google.gson.Gson;
import com.google.gson.JsonObject;
import com.google.protobuf.ByteString;
import com.google.protobuf.Duration;
import dev.spindle.v1.AcceptProposal;
import dev.spindle.v1.Answer;
import dev.spindle.v1.Content;
import dev.spindle.v1.Failure;
import dev.spindle.v1.MediaContent;
import dev.spindle.v1.Progress;
import dev.spindle.v1.RetryPolicy;
import dev.spindle.v1.TextContent;
import dev.spindle.v1.Tool;
import dev.spindle.v1.ToolAnnotations;
import dev.spindle.v1.ToolDeferAction;
import dev.spindle.v1.ToolOffer;
import dev.spindle.v1.ToolResult;
import java.util.Base64;
import java.util.List;
import java.util.Optional;

/** The standard tools of docs/conformance.md, on the stream of {@link WorkerStream}. */
public final class Worker {
  private static final String PIXEL_PNG =
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNoAAAAggCB2kUIOwAAAABJRU5ErkJggg==";
  private static final Gson GSON = new Gson();

  private record Add(long a, long b) {}

  private record Fail(String code, String message, boolean retryable) {}

  private record Flaky(int failures) {}

  private record Slow(long ms) {}

  private record Steps(int steps) {}

  private record Defer(Long timeout_ms) {}

  private record Big(int bytes) {}

  private record Crash(String how) {}

  private Worker() {}

  public static void main(String[] args) {
    String address = Optional.ofNullable(System.getenv("SPINDLE_ADDRESS")).orElse("127.0.0.1:7433");
    WorkerStream stream =
        new WorkerStream(new WorkerStream.Options(address, "example-java", offers(), 16, Worker::run));
    // After SIGTERM the JVM leaves with 143, whatever its hooks did; a worker that has drained leaves with 0.
    Runtime.getRuntime()
        .addShutdownHook(new Thread(() -> Runtime.getRuntime().halt(stream.drain() ? 0 : 1)));
    stream.serve();
  }

  private static Answer run(Call call) throws InterruptedException {
    // Arguments that do not match: the engine proposes what the model should read (1.2).
    String arguments = call.validJson().orElse(null);
    if (arguments == null) return Answer.newBuilder().setAccept(AcceptProposal.getDefaultInstance()).build();
    int attempt = call.execute().getAttempt();
    switch (call.execute().getName()) {
      case "echo":
        // The value goes back as it came: reading it would change numbers and spelling.
        return value(arguments);
      case "add":
        Add add = GSON.fromJson(arguments, Add.class);
        return value(String.valueOf(Math.addExact(add.a, add.b)));
      case "fail":
        Fail fail = GSON.fromJson(arguments, Fail.class);
        return failure(fail.code == null ? "tool_error" : fail.code, fail.message, fail.retryable);
      case "flaky":
        Flaky flaky = GSON.fromJson(arguments, Flaky.class);
        if (attempt <= flaky.failures) return failure("flaky", "attempt " + attempt + " fails", true);
        return text("attempt " + attempt);
      case "slow":
        Slow slow = GSON.fromJson(arguments, Slow.class);
        // When the call is cancelled, this throws at once.
        Thread.sleep(slow.ms);
        return text("slept " + slow.ms);
      case "progress":
        int steps = GSON.fromJson(arguments, Steps.class).steps;
        for (int step = 1; step <= steps; step++) {
          call.progress(
              Progress.newBuilder().setCompleted(step).setTotal(steps).setActivity("step " + step).build());
          Thread.sleep(5);
        }
        return text("done");
      case "defer":
        Long timeout = GSON.fromJson(arguments, Defer.class).timeout_ms;
        ToolDeferAction.Builder defer = ToolDeferAction.newBuilder();
        if (timeout != null) {
          int nanos = (int) (timeout % 1_000) * 1_000_000;
          defer.setTimeout(Duration.newBuilder().setSeconds(timeout / 1_000).setNanos(nanos));
        }
        return Answer.newBuilder().setToolDefer(defer).build();
      case "image":
        ByteString png = ByteString.copyFrom(Base64.getDecoder().decode(PIXEL_PNG));
        return result(
            Content.newBuilder().setImage(MediaContent.newBuilder().setData(png).setMimeType("image/png")));
      case "big":
        return text("x".repeat(GSON.fromJson(arguments, Big.class).bytes));
      case "crash":
        // halt, not exit: exit would run the hook, which drains.
        if (GSON.fromJson(arguments, Crash.class).how.equals("exit")) Runtime.getRuntime().halt(70);
        throw new IllegalStateException("a bug in the handler");
      case "context":
        JsonObject context = new JsonObject();
        context.addProperty("call_id", call.execute().getCallId());
        context.addProperty("attempt", attempt);
        context.addProperty("traceparent", call.traceContext().getOrDefault("traceparent", ""));
        return value(GSON.toJson(context));
      default:
        return failure("tool_error", "This worker has no tool " + call.execute().getName() + ".", false);
    }
  }

  private static Answer value(String json) {
    return Answer.newBuilder().setValueJson(json).build();
  }

  private static Answer text(String text) {
    return result(Content.newBuilder().setText(TextContent.newBuilder().setText(text)));
  }

  private static Answer result(Content.Builder block) {
    return Answer.newBuilder().setResult(ToolResult.newBuilder().addContent(block)).build();
  }

  private static Answer failure(String code, String message, boolean retryable) {
    return Answer.newBuilder()
        .setError(Failure.newBuilder().setCode(code).setMessage(message).setRetryable(retryable))
        .build();
  }

  private static List<ToolOffer> offers() {
    Tool.Builder add =
        tool(
                "add",
                """
                {"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},\
                "required":["a","b"],"additionalProperties":false}""")
            .setOutputSchemaJson("{\"type\":\"integer\"}")
            .setAnnotations(ToolAnnotations.newBuilder().setReadOnly(true));
    Tool.Builder fail =
        tool(
            "fail",
            """
            {"type":"object","properties":{"code":{"type":"string"},"message":{"type":"string"},\
            "retryable":{"type":"boolean"}},"required":["message"]}""");
    Tool.Builder flaky =
        tool("flaky", requiredInteger("failures"))
            .setRetry(
                RetryPolicy.newBuilder()
                    .setMaxAttempts(5)
                    .setInitialBackoff(Duration.newBuilder().setNanos(10_000_000)));
    Tool.Builder defer =
        tool(
            "defer",
            """
            {"type":"object","properties":{"timeout_ms":{"type":"integer"}}}""");
    Tool.Builder crash =
        tool(
            "crash",
            """
            {"type":"object","properties":{"how":{"enum":["throw","exit"]}},"required":["how"]}""");
    List<Tool.Builder> tools =
        List.of(
            tool("echo", ANY_OBJECT),
            add,
            fail,
            flaky,
            tool("slow", requiredInteger("ms")),
            tool("progress", requiredInteger("steps")),
            defer,
            tool("image", ANY_OBJECT),
            tool("big", requiredInteger("bytes")),
            crash,
            tool("context", ANY_OBJECT));
    return tools.stream().map(tool -> ToolOffer.newBuilder().setTool(tool).build()).toList();
  }

  private static final String ANY_OBJECT = "{\"type\":\"object\"}";

  private static String requiredInteger(String name) {
    return """
        {"type":"object","properties":{"%1$s":{"type":"integer"}},"required":["%1$s"]}"""
        .formatted(name);
  }

  private static Tool.Builder tool(String name, String inputSchemaJson) {
    return Tool.newBuilder()
        .setName(name)
        .setDescription("The standard tool " + name + " of the conformance suite.")
        .setInputSchemaJson(inputSchemaJson);
  }
}
