package dev.spindle.example;

import dev.spindle.v1.Progress;
import dev.spindle.v1.ToolExecute;
import dev.spindle.v1.ValidInput;
import java.util.Map;
import java.util.Optional;

/**
 * A call of one of the worker's tools.
 *
 * @param traceContext {@code traceparent} and its like, of the engine's span
 */
public record Call(ToolExecute execute, Map<String, String> traceContext, Reporter reporter) {
  /** Takes reports for whoever watches the call. */
  @FunctionalInterface
  public interface Reporter {
    void report(Progress report) throws InterruptedException;
  }

  /**
   * The arguments as JSON text, or nothing where they do not match the tool's schema. They are the text as it came,
   * unless a repair says otherwise (1.1).
   */
  public Optional<String> validJson() {
    if (!execute.getInput().hasValid()) return Optional.empty();
    ValidInput valid = execute.getInput().getValid();
    return Optional.of(valid.hasRepairedJson() ? valid.getRepairedJson() : execute.getArguments());
  }

  /** Tells whoever watches the call how far it is. Throws where the handler should stop. */
  public void progress(Progress report) throws InterruptedException {
    reporter.report(report);
  }
}
