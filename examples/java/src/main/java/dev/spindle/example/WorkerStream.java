package dev.spindle.example;

import com.google.protobuf.Duration;
import dev.spindle.v1.Answer;
import dev.spindle.v1.Cancelled;
import dev.spindle.v1.ConnectRequest;
import dev.spindle.v1.ConnectResponse;
import dev.spindle.v1.Dispatch;
import dev.spindle.v1.Drain;
import dev.spindle.v1.EngineFrame;
import dev.spindle.v1.Failure;
import dev.spindle.v1.GoAway;
import dev.spindle.v1.GoAwayReason;
import dev.spindle.v1.Heartbeat;
import dev.spindle.v1.HeldLease;
import dev.spindle.v1.Hello;
import dev.spindle.v1.Progress;
import dev.spindle.v1.Reject;
import dev.spindle.v1.ToolOffer;
import dev.spindle.v1.ToolRefusal;
import dev.spindle.v1.Welcome;
import dev.spindle.v1.WorkerFrame;
import dev.spindle.v1.WorkerServiceGrpc;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import java.util.ArrayDeque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/**
 * A worker's stream on grpc-java alone. Numbers in brackets are sections of docs/protocol.md.
 *
 * <p>One thread, the loop, owns all state and is never blocked: gRPC's callbacks, the timers and what handlers report
 * run on it, so nothing here is locked, and the stream, which is not thread-safe, has one writer. Each call runs on a
 * thread of its own.
 */
public final class WorkerStream {
  /** Runs a call. What it throws becomes a failure; when the engine wants it to stop, its thread is interrupted. */
  @FunctionalInterface
  public interface Handler {
    /** The answer, without the lease, which is filled in. */
    Answer run(Call call) throws Exception;
  }

  /** Takes {@code maxInFlight} calls at once from the engine at {@code address}, {@code HOST:PORT}. */
  public record Options(String address, String name, List<ToolOffer> tools, int maxInFlight, Handler handler) {}

  private static final long KEEPALIVE_MILLIS = 20_000;
  private static final long KEEPALIVE_TIMEOUT_MILLIS = 10_000;
  private static final long FIRST_BACKOFF_MILLIS = 250;
  private static final long LAST_BACKOFF_MILLIS = 15_000;
  private static final long DRAIN_TIMEOUT_MILLIS = 30_000;
  // What counts where the welcome leaves them unset (5.3).
  private static final long HEARTBEAT_MILLIS = 10_000;
  private static final long SILENCE_MILLIS = 30_000;
  private static final int MAX_MESSAGE_BYTES = 4 * 1024 * 1024;

  /** What the message around an answer takes, with room to spare. */
  private static final int ENVELOPE_BYTES = 64;

  // The most that goes in one message, unless a single frame is larger (5.2).
  private static final int BATCH_BYTES = 256 * 1024;
  private static final int BATCH_FRAMES = 128;

  /** Trying again cannot help after these (5.3). */
  private static final Set<Status.Code> FINAL =
      Set.of(
          Status.Code.UNAUTHENTICATED,
          Status.Code.PERMISSION_DENIED,
          Status.Code.INVALID_ARGUMENT,
          Status.Code.UNIMPLEMENTED);

  private final Options options;
  private final ManagedChannel channel;
  private final ScheduledExecutorService loop =
      Executors.newSingleThreadScheduledExecutor(task -> daemon(task, "worker-stream"));
  private final CompletableFuture<Void> over = new CompletableFuture<>();

  private final String instanceId = UUID.randomUUID().toString();
  private final Map<String, Held> held = new LinkedHashMap<>();
  private String resumeToken = "";
  private int streamNumber;
  private int heartbeats;
  private long backoffMillis = FIRST_BACKOFF_MILLIS;
  private boolean draining;

  // Of the stream that is open; null between two streams.
  private Stream stream;
  private final Queue<WorkerFrame> outbox = new ArrayDeque<>();
  private final Map<String, Progress> reports = new LinkedHashMap<>();
  private boolean flushing;
  private boolean welcomed;
  private boolean drained;
  private boolean halfClosed;
  private int receivedThrough;
  private long lastHeardNanos;
  private long silenceMillis = SILENCE_MILLIS;
  private int maxMessageBytes = MAX_MESSAGE_BYTES;
  private ScheduledFuture<?> ticking;

  public WorkerStream(Options options) {
    this.options = options;
    this.channel =
        Grpc.newChannelBuilder(options.address(), InsecureChannelCredentials.create())
            .keepAliveTime(KEEPALIVE_MILLIS, TimeUnit.MILLISECONDS)
            .keepAliveTimeout(KEEPALIVE_TIMEOUT_MILLIS, TimeUnit.MILLISECONDS)
            .build();
  }

  /** Serves until the worker has drained. Throws the engine's status where reconnecting cannot help. */
  public void serve() {
    loop.execute(this::connect);
    try {
      over.join();
    } catch (CompletionException ended) {
      throw ended.getCause() instanceof RuntimeException cause ? cause : ended;
    }
  }

  /**
   * Asks for no more work, and waits until what is held is finished, 30 s at most (5.9). False where the worker had
   * failed.
   */
  public boolean drain() {
    loop.execute(
        () -> {
          if (draining) return;
          draining = true;
          if (welcomed) send(drainFrame());
          if (stream == null && held.isEmpty()) finish(null);
          loop.schedule(() -> finish(null), DRAIN_TIMEOUT_MILLIS, TimeUnit.MILLISECONDS);
        });
    return over.handle((nothing, failure) -> failure == null).join();
  }

  /** A dispatch that this process holds: running, or answered and not acknowledged. */
  private static final class Held {
    Thread thread;
    volatile boolean stopped;
    Answer answer;

    void stop() {
      stopped = true;
      thread.interrupt();
    }
  }

  /** One stream. Its callbacks run on the loop; those of an older stream are not heard any more (5.5). */
  private final class Stream implements ClientResponseObserver<ConnectRequest, ConnectResponse> {
    ClientCallStreamObserver<ConnectRequest> requests;

    @Override
    public void beforeStart(ClientCallStreamObserver<ConnectRequest> requests) {
      this.requests = requests;
      requests.setOnReadyHandler(WorkerStream.this::flush);
    }

    @Override
    public void onNext(ConnectResponse response) {
      for (EngineFrame frame : response.getFramesList()) {
        if (this != stream) return;
        lastHeardNanos = System.nanoTime();
        receive(frame);
      }
    }

    @Override
    public void onError(Throwable error) {
      if (this == stream) lost(Status.fromThrowable(error));
    }

    @Override
    public void onCompleted() {
      if (this == stream) lost(Status.OK);
    }
  }

  private void connect() {
    if (over.isDone()) return;
    // A lost stream cancels nothing: the hello names what is held, and the answers follow (5.5).
    outbox.clear();
    reports.clear();
    welcomed = false;
    drained = false;
    halfClosed = false;
    receivedThrough = 0;
    lastHeardNanos = System.nanoTime();
    // The channel has a backoff of its own, of up to two minutes; the rules for it are those of 5.3.
    channel.resetConnectBackoff();
    stream = new Stream();
    WorkerServiceGrpc.newStub(channel).withExecutor(loop).connect(stream);
    stream.requests.onNext(ConnectRequest.newBuilder().addFrames(helloFrame()).build());
    tickEvery(HEARTBEAT_MILLIS);
  }

  private void lost(Status status) {
    leave();
    if (drained && held.isEmpty()) finish(null);
    else if (FINAL.contains(status.getCode())) finish(status.asRuntimeException());
    else connectAfter(0);
  }

  private void reconnect(long afterMillis) {
    Stream old = stream;
    leave();
    old.requests.cancel("the worker opens another stream", null);
    connectAfter(afterMillis);
  }

  private void leave() {
    stream = null;
    welcomed = false;
    ticking.cancel(false);
  }

  private void connectAfter(long millis) {
    if (draining && held.isEmpty()) {
      finish(null);
      return;
    }
    // Full jitter: workers that lost one engine do not come back in step (5.3).
    long wait = millis + ThreadLocalRandom.current().nextLong(backoffMillis);
    backoffMillis = Math.min(backoffMillis * 2, LAST_BACKOFF_MILLIS);
    loop.schedule(this::connect, wait, TimeUnit.MILLISECONDS);
  }

  private void finish(RuntimeException failure) {
    if (ticking != null) ticking.cancel(false);
    stream = null;
    channel.shutdownNow();
    if (failure == null) over.complete(null);
    else over.completeExceptionally(failure);
  }

  private void receive(EngineFrame frame) {
    switch (frame.getKindCase()) {
      case WELCOME -> welcome(frame.getWelcome());
      case DISPATCH -> start(frame.getDispatch());
      case CANCEL -> stop(frame.getCancel().getLeaseToken());
      case ACKNOWLEDGE -> {
        held.remove(frame.getAcknowledge().getLeaseToken());
        flushSoon();
      }
      case HEARTBEAT_REPLY -> frame.getHeartbeatReply().getAbandonList().forEach(this::stop);
      case DRAIN_REPLY -> {
        drained = true;
        flushSoon();
      }
      case GO_AWAY -> {
        GoAway goAway = frame.getGoAway();
        if (goAway.getReason() == GoAwayReason.GO_AWAY_REASON_REPLACED) finish(null);
        else reconnect(millis(goAway.getReconnectAfter()));
      }
      // This worker never asks for TOOLS_REPLY, and newer engines may say more (5.12).
      case TOOLS_REPLY, KIND_NOT_SET -> {}
    }
  }

  private void welcome(Welcome welcome) {
    for (ToolRefusal refused : welcome.getRefusedToolsList()) {
      System.err.printf("the engine refused the tool %s: %s%n", refused.getName(), refused.getReason());
    }
    welcomed = true;
    resumeToken = welcome.getResumeToken();
    backoffMillis = FIRST_BACKOFF_MILLIS;
    silenceMillis = welcome.hasSilenceTimeout() ? millis(welcome.getSilenceTimeout()) : SILENCE_MILLIS;
    maxMessageBytes = welcome.getMaxMessageBytes() == 0 ? MAX_MESSAGE_BYTES : welcome.getMaxMessageBytes();
    // Nothing is dispatched before the first heartbeat (5.1).
    heartbeat();
    tickEvery(welcome.hasHeartbeatInterval() ? millis(welcome.getHeartbeatInterval()) : HEARTBEAT_MILLIS);
    welcome.getAbandonList().forEach(this::stop);
    // Kept until they are acknowledged, and sent again on each stream (5.7).
    for (Held dispatch : held.values()) {
      if (dispatch.answer != null) sendAnswer(dispatch.answer);
    }
    if (draining) send(drainFrame());
  }

  private void tickEvery(long millis) {
    if (ticking != null) ticking.cancel(false);
    ticking = loop.scheduleWithFixedDelay(this::tick, millis, millis, TimeUnit.MILLISECONDS);
  }

  private void tick() {
    long silentMillis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - lastHeardNanos);
    if (silentMillis > silenceMillis) reconnect(0);
    else if (welcomed) heartbeat();
  }

  private void heartbeat() {
    Heartbeat beat =
        Heartbeat.newBuilder()
            .setSequence(++heartbeats)
            .setReceivedThrough(receivedThrough)
            .addAllHeld(held.keySet())
            .build();
    send(WorkerFrame.newBuilder().setHeartbeat(beat).build());
  }

  private void start(Dispatch dispatch) {
    receivedThrough = dispatch.getSequence();
    String lease = dispatch.getLeaseToken();
    if (!dispatch.getTrigger().hasToolExecute()) {
      Reject reject = Reject.newBuilder().setLeaseToken(lease).setReason("this worker runs tools alone").build();
      send(WorkerFrame.newBuilder().setReject(reject).build());
      return;
    }
    Held running = new Held();
    Call call =
        new Call(
            dispatch.getTrigger().getToolExecute(),
            dispatch.getTraceContextMap(),
            report -> report(running, report.toBuilder().setLeaseToken(lease).build()));
    running.thread =
        daemon(
            () -> {
              Answer answer = run(call, lease, running);
              loop.execute(() -> answered(running, answer));
            },
            "tool " + call.execute().getName());
    held.put(lease, running);
    running.thread.start();
  }

  /** On the call's own thread. It returns when the handler has really stopped, however it did. */
  private Answer run(Call call, String lease, Held running) {
    try {
      return options.handler().run(call).toBuilder().setLeaseToken(lease).build();
    } catch (Throwable problem) {
      Answer.Builder answer = Answer.newBuilder().setLeaseToken(lease);
      if (running.stopped) return answer.setCancelled(Cancelled.getDefaultInstance()).build();
      problem.printStackTrace();
      return answer.setError(failure("tool_error", problem.toString())).build();
    }
  }

  private void stop(String lease) {
    Held running = held.get(lease);
    if (running != null) running.stop();
  }

  private void answered(Held running, Answer answer) {
    running.answer = answer;
    if (welcomed) sendAnswer(answer);
  }

  /**
   * On the call's own thread. It waits until the loop has taken the report, so that no handler is ahead of it, and
   * throws where the handler should stop.
   */
  private void report(Held running, Progress report) throws InterruptedException {
    Runnable take =
        () -> {
          if (!welcomed || running.answer != null) return;
          // A report that is not written yet takes on what is newer, so that a slow reader costs no memory (4.4).
          reports.merge(report.getLeaseToken(), report, WorkerStream::merged);
          flushSoon();
        };
    try {
      loop.submit(take).get();
    } catch (ExecutionException bug) {
      throw new IllegalStateException(bug.getCause());
    }
  }

  private static Progress merged(Progress older, Progress newer) {
    Progress.Builder both = older.toBuilder();
    if (newer.getPartialCount() > 0) both.clearPartial();
    return both.mergeFrom(newer).build();
  }

  /** Replaces what the engine would not read, so that one large answer fails its own call alone (3.4). */
  private void sendAnswer(Answer answer) {
    Answer sent = answer;
    if (answer.getSerializedSize() + ENVELOPE_BYTES > maxMessageBytes) {
      String message = "The result is larger than a message of " + maxMessageBytes + " bytes.";
      sent = answer.toBuilder().setError(failure("result_too_large", message)).build();
    }
    // No report comes after its answer.
    Progress last = reports.remove(answer.getLeaseToken());
    if (last != null) outbox.add(WorkerFrame.newBuilder().setProgress(last).build());
    send(WorkerFrame.newBuilder().setAnswer(sent).build());
  }

  private void send(WorkerFrame frame) {
    outbox.add(frame);
    flushSoon();
  }

  /** Frames that become ready in one turn of the loop go in one message (5.2). */
  private void flushSoon() {
    if (flushing) return;
    flushing = true;
    loop.execute(this::flush);
  }

  /** Writes what is ready, as long as the engine reads; gRPC calls it again when there is room. */
  private void flush() {
    flushing = false;
    if (stream == null || halfClosed) return;
    while (stream.requests.isReady() && !(outbox.isEmpty() && reports.isEmpty())) {
      stream.requests.onNext(nextBatch());
    }
    if (drained && held.isEmpty() && outbox.isEmpty()) {
      halfClosed = true;
      stream.requests.onCompleted();
    }
  }

  private ConnectRequest nextBatch() {
    for (Progress report : reports.values()) outbox.add(WorkerFrame.newBuilder().setProgress(report).build());
    reports.clear();
    int room = Math.min(BATCH_BYTES, maxMessageBytes);
    ConnectRequest.Builder batch = ConnectRequest.newBuilder().addFrames(outbox.remove());
    room -= batch.getFrames(0).getSerializedSize() + ENVELOPE_BYTES;
    while (!outbox.isEmpty() && batch.getFramesCount() < BATCH_FRAMES) {
      room -= outbox.element().getSerializedSize() + ENVELOPE_BYTES;
      if (room < 0) break;
      batch.addFrames(outbox.remove());
    }
    return batch.build();
  }

  private WorkerFrame helloFrame() {
    Hello.Builder hello =
        Hello.newBuilder()
            .setInstanceId(instanceId)
            .setResumeToken(resumeToken)
            .setStreamNumber(++streamNumber)
            .setWorkerName(options.name())
            .setSdk("example-java")
            .addAllTools(options.tools())
            .setMaxInFlight(options.maxInFlight())
            .setDraining(draining);
    held.forEach(
        (lease, dispatch) ->
            hello.addHeld(HeldLease.newBuilder().setLeaseToken(lease).setAnswered(dispatch.answer != null)));
    return WorkerFrame.newBuilder().setHello(hello).build();
  }

  private static WorkerFrame drainFrame() {
    Drain drain = Drain.newBuilder().setReason("the worker was asked to stop").build();
    return WorkerFrame.newBuilder().setDrain(drain).build();
  }

  private static Failure failure(String code, String message) {
    return Failure.newBuilder().setCode(code).setMessage(message).build();
  }

  private static long millis(Duration duration) {
    return duration.getSeconds() * 1_000 + duration.getNanos() / 1_000_000;
  }

  /** A thread that does not keep the process alive. */
  private static Thread daemon(Runnable task, String name) {
    Thread thread = new Thread(task, name);
    thread.setDaemon(true);
    return thread;
  }
}
