//! A worker's stream on tonic alone. Numbers in brackets are sections of docs/protocol.md.
//!
//! One task owns all state and is never blocked: it selects over what the engine sends, what handlers report, the
//! timers, and room to write. Handlers are tasks of their own, and speak to it through one bounded queue.

use std::collections::{HashMap, VecDeque};
use std::future::{Future, pending};
use std::pin::Pin;
use std::time::Duration;

use prost::Message;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinError};
use tokio::time::{Instant, sleep_until};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};

pub use crate::pb::answer::Outcome;
use crate::pb::{
    engine_frame, tool_input, trigger, worker_frame, worker_service_client::WorkerServiceClient, *,
};

const KEEPALIVE: Duration = Duration::from_secs(20);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(10);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const FIRST_BACKOFF: Duration = Duration::from_millis(250);
const LAST_BACKOFF: Duration = Duration::from_secs(15);
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);
/// What counts where the welcome leaves them unset (5.3).
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(10);
const SILENCE_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_MESSAGE_BYTES: usize = 4 * 1024 * 1024;
/// What the message around an answer takes, with room to spare.
const ENVELOPE_BYTES: usize = 64;
/// The most that goes in one message, unless a single frame is larger (5.2).
const BATCH_BYTES: usize = 256 * 1024;
const BATCH_FRAMES: usize = 128;
/// Frames that may wait to be written before handlers have to wait with their reports.
const MAX_OUTBOX_FRAMES: usize = 256;
/// Trying again cannot help after these (5.3).
const FINAL: [Code; 4] =
    [Code::Unauthenticated, Code::PermissionDenied, Code::InvalidArgument, Code::Unimplemented];

pub struct WorkerOptions {
    /// `HOST:PORT` of the engine.
    pub address: String,
    pub name: String,
    pub tools: Vec<ToolOffer>,
    /// The most calls at once.
    pub max_in_flight: u32,
}

/// A call of one of the worker's tools.
pub struct Call {
    pub execute: ToolExecute,
    /// `traceparent` and its like, of the engine's span.
    pub trace_context: HashMap<String, String>,
    lease: String,
    events: mpsc::Sender<Event>,
}

impl Call {
    /// The arguments as JSON text, or `None` where they do not match the tool's schema. They are the text as it came,
    /// unless a repair says otherwise (1.1).
    pub fn valid_json(&self) -> Option<&str> {
        match self.execute.input.as_ref()?.status.as_ref()? {
            tool_input::Status::Valid(valid) => {
                Some(valid.repaired_json.as_ref().unwrap_or(&self.execute.arguments))
            }
            _ => None,
        }
    }

    /// Tells whoever watches the call how far it is. Waits while the engine reads slowly.
    pub async fn progress(&self, report: Progress) {
        let report = Progress { lease_token: self.lease.clone(), ..report };
        // The queue is closed only once the worker is over, and then nobody listens.
        let _ = self.events.send(Event::Reported(report)).await;
    }
}

/// Serves until `shutdown` is ready and the worker has drained: held calls are finished, within 30 s (5.9). Fails with
/// the status of the engine where trying again cannot help.
///
/// `handle` runs a call. When the engine wants it to stop, its future is dropped at the next await.
pub async fn serve<H, R>(
    options: WorkerOptions,
    handle: H,
    shutdown: impl Future<Output = ()> + 'static,
) -> Result<(), Status>
where
    H: Fn(Call) -> R,
    R: Future<Output = Result<Outcome, Failure>> + Send + 'static,
{
    let channel = Endpoint::from_shared(format!("http://{}", options.address))
        .map_err(|error| Status::invalid_argument(format!("SPINDLE_ADDRESS: {error}")))?
        .connect_timeout(CONNECT_TIMEOUT)
        .http2_keep_alive_interval(KEEPALIVE)
        .keep_alive_timeout(KEEPALIVE_TIMEOUT)
        .connect_lazy();
    let (reports, events) = mpsc::channel(MAX_OUTBOX_FRAMES);
    let mut worker = Worker {
        options,
        handle,
        shutdown: Box::pin(shutdown),
        instance_id: format!("{:032x}", fastrand::u128(..)),
        resume_token: String::new(),
        stream_number: 0,
        heartbeats: 0,
        held: HashMap::new(),
        reports,
        events,
        backoff: FIRST_BACKOFF,
        drain_by: None,
        outbox: VecDeque::new(),
        welcomed: false,
        drained: false,
        received_through: 0,
        next_heartbeat: Instant::now(),
        heartbeat_interval: HEARTBEAT_INTERVAL,
        silence_timeout: SILENCE_TIMEOUT,
        max_message_bytes: MAX_MESSAGE_BYTES,
    };
    loop {
        let after = match worker.stream(WorkerServiceClient::new(channel.clone())).await {
            Ended::Over => return Ok(()),
            Ended::Lost(status) if FINAL.contains(&status.code()) => return Err(status),
            Ended::Lost(_) => Duration::ZERO,
            Ended::Asked { reconnect_after } => reconnect_after,
        };
        // Full jitter: workers that lost one engine do not come back in step (5.3).
        let wait = after + worker.backoff.mul_f64(fastrand::f64());
        worker.backoff = (worker.backoff * 2).min(LAST_BACKOFF);
        if worker.away(Instant::now() + wait).await {
            return Ok(());
        }
    }
}

/// How a stream ended.
enum Ended {
    /// The worker is done.
    Over,
    /// The connection broke, or the engine ended the stream.
    Lost(Status),
    /// By a go-away, or by silence.
    Asked { reconnect_after: Duration },
}

/// What handlers have to say. One queue for both, so that no report comes after its answer.
enum Event {
    Reported(Progress),
    Answered(Answer),
}

/// A dispatch that this process holds: running, or answered and not acknowledged.
struct Held {
    handler: AbortHandle,
    answer: Option<Answer>,
}

struct Worker<H> {
    options: WorkerOptions,
    handle: H,
    shutdown: Pin<Box<dyn Future<Output = ()>>>,
    instance_id: String,
    resume_token: String,
    stream_number: u32,
    heartbeats: u32,
    held: HashMap<String, Held>,
    reports: mpsc::Sender<Event>,
    events: mpsc::Receiver<Event>,
    backoff: Duration,
    /// Set once the worker drains.
    drain_by: Option<Instant>,

    // Of the stream that is open.
    outbox: VecDeque<WorkerFrame>,
    welcomed: bool,
    drained: bool,
    received_through: u32,
    next_heartbeat: Instant,
    heartbeat_interval: Duration,
    silence_timeout: Duration,
    max_message_bytes: usize,
}

impl<H, R> Worker<H>
where
    H: Fn(Call) -> R,
    R: Future<Output = Result<Outcome, Failure>> + Send + 'static,
{
    /// Lives through one stream. A lost stream cancels nothing: the next hello names what is held (5.5).
    async fn stream(&mut self, client: WorkerServiceClient<Channel>) -> Ended {
        self.stream_number += 1;
        self.welcomed = false;
        self.drained = false;
        self.received_through = 0;
        self.outbox = VecDeque::from([frame(worker_frame::Kind::Hello(self.hello()))]);

        let (requests, outbound) = mpsc::channel(1);
        let mut requests = Some(requests);
        let mut responses = open(client, outbound);
        let mut last_heard = Instant::now();
        loop {
            if self.drained && self.held.is_empty() && self.outbox.is_empty() {
                // Half-closes the stream; the engine ends it (5.9).
                requests = None;
            }
            tokio::select! {
                response = responses.receiver.recv() => match response {
                    Some(Ok(response)) => {
                        last_heard = Instant::now();
                        for kind in response.frames.into_iter().filter_map(|frame| frame.kind) {
                            if let Some(ended) = self.receive(kind) {
                                return ended;
                            }
                        }
                    }
                    _ if requests.is_none() => return Ended::Over,
                    Some(Err(status)) => return Ended::Lost(status),
                    None => return Ended::Lost(Status::unavailable("the engine ended the stream")),
                },
                // What became ready while the last message was written goes in one message (5.2).
                permit = room(&requests), if !self.outbox.is_empty() => {
                    permit.send(ConnectRequest { frames: self.next_batch() });
                }
                Some(event) = self.events.recv(), if self.outbox.len() < MAX_OUTBOX_FRAMES => self.happened(event),
                () = sleep_until(self.next_heartbeat), if self.welcomed => self.heartbeat(),
                () = sleep_until(last_heard + self.silence_timeout) => {
                    return Ended::Asked { reconnect_after: Duration::ZERO };
                }
                () = &mut self.shutdown, if self.drain_by.is_none() => self.drain(),
                () = until(self.drain_by) => return Ended::Over,
            }
        }
    }

    /// Waits for the next stream, while handlers go on. True where the worker may leave instead.
    async fn away(&mut self, next: Instant) -> bool {
        self.welcomed = false;
        loop {
            if self.drain_by.is_some() && self.held.is_empty() {
                return true;
            }
            tokio::select! {
                () = sleep_until(next) => return false,
                Some(event) = self.events.recv() => self.happened(event),
                () = &mut self.shutdown, if self.drain_by.is_none() => self.drain(),
                () = until(self.drain_by) => return true,
            }
        }
    }

    fn receive(&mut self, kind: engine_frame::Kind) -> Option<Ended> {
        use engine_frame::Kind;
        match kind {
            Kind::Welcome(welcome) => self.welcome(welcome),
            Kind::Dispatch(dispatch) => self.start(dispatch),
            Kind::Cancel(cancel) => self.stop(&cancel.lease_token),
            Kind::Acknowledge(acknowledge) => {
                self.held.remove(&acknowledge.lease_token);
            }
            Kind::HeartbeatReply(reply) => reply.abandon.iter().for_each(|lease| self.stop(lease)),
            Kind::DrainReply(_) => self.drained = true,
            Kind::GoAway(go_away) if go_away.reason() == GoAwayReason::Replaced => return Some(Ended::Over),
            Kind::GoAway(go_away) => {
                let reconnect_after = duration(go_away.reconnect_after).unwrap_or_default();
                return Some(Ended::Asked { reconnect_after });
            }
            // This worker never asks for it.
            Kind::ToolsReply(_) => {}
        }
        None
    }

    fn hello(&self) -> Hello {
        let held = self
            .held
            .iter()
            .map(|(lease, held)| HeldLease { lease_token: lease.clone(), answered: held.answer.is_some() });
        Hello {
            instance_id: self.instance_id.clone(),
            resume_token: self.resume_token.clone(),
            stream_number: self.stream_number,
            worker_name: self.options.name.clone(),
            sdk: "example-rust".to_owned(),
            tools: self.options.tools.clone(),
            max_in_flight: Some(self.options.max_in_flight),
            held: held.collect(),
            draining: self.drain_by.is_some(),
            ..Hello::default()
        }
    }

    fn welcome(&mut self, welcome: Welcome) {
        for refused in &welcome.refused_tools {
            eprintln!("the engine refused the tool {}: {}", refused.name, refused.reason);
        }
        self.welcomed = true;
        self.resume_token = welcome.resume_token;
        self.backoff = FIRST_BACKOFF;
        self.heartbeat_interval = duration(welcome.heartbeat_interval).unwrap_or(HEARTBEAT_INTERVAL);
        self.silence_timeout = duration(welcome.silence_timeout).unwrap_or(SILENCE_TIMEOUT);
        self.max_message_bytes = match welcome.max_message_bytes {
            0 => MAX_MESSAGE_BYTES,
            bytes => bytes as usize,
        };
        // Nothing is dispatched before the first heartbeat (5.1).
        self.heartbeat();
        welcome.abandon.iter().for_each(|lease| self.stop(lease));
        // Kept until they are acknowledged, and sent again on each stream (5.7).
        let owed: Vec<_> = self.held.values().filter_map(|held| held.answer.clone()).collect();
        owed.into_iter().for_each(|answer| self.send_answer(answer));
        if self.drain_by.is_some() {
            self.send(worker_frame::Kind::Drain(Drain::default()));
        }
    }

    fn heartbeat(&mut self) {
        self.next_heartbeat = Instant::now() + self.heartbeat_interval;
        self.heartbeats += 1;
        self.send(worker_frame::Kind::Heartbeat(Heartbeat {
            sequence: self.heartbeats,
            received_through: self.received_through,
            held: self.held.keys().cloned().collect(),
        }));
    }

    fn start(&mut self, dispatch: Dispatch) {
        self.received_through = dispatch.sequence;
        let lease = dispatch.lease_token;
        let Some(trigger::Kind::ToolExecute(execute)) = dispatch.trigger.and_then(|trigger| trigger.kind)
        else {
            let reason = "this worker runs tools alone".to_owned();
            self.send(worker_frame::Kind::Reject(Reject { lease_token: lease, reason, retry_after: None }));
            return;
        };
        let handler = tokio::spawn((self.handle)(Call {
            execute,
            trace_context: dispatch.trace_context,
            lease: lease.clone(),
            events: self.reports.clone(),
        }));
        self.held.insert(lease.clone(), Held { handler: handler.abort_handle(), answer: None });
        let events = self.reports.clone();
        // Joins the handler, so that the answer follows when it has really stopped, however it did.
        tokio::spawn(async move {
            let outcome = match handler.await {
                Ok(Ok(outcome)) => outcome,
                Ok(Err(failure)) => Outcome::Error(failure),
                Err(error) if error.is_cancelled() => Outcome::Cancelled(Cancelled {}),
                Err(panic) => Outcome::Error(failure("tool_error", panic_text(panic))),
            };
            let answer = Answer { lease_token: lease, outcome: Some(outcome) };
            let _ = events.send(Event::Answered(answer)).await;
        });
    }

    fn stop(&self, lease: &str) {
        if let Some(held) = self.held.get(lease) {
            held.handler.abort();
        }
    }

    fn happened(&mut self, event: Event) {
        match event {
            // Reports are lossy: what happens while the worker is away is not told later.
            Event::Reported(report) if self.welcomed => self.send(worker_frame::Kind::Progress(report)),
            Event::Reported(_) => {}
            Event::Answered(answer) => {
                if let Some(held) = self.held.get_mut(&answer.lease_token) {
                    held.answer = Some(answer.clone());
                    if self.welcomed {
                        self.send_answer(answer);
                    }
                }
            }
        }
    }

    /// Replaces what the engine would not read, so that one large answer fails its own call alone (3.4).
    fn send_answer(&mut self, mut answer: Answer) {
        if answer.encoded_len() + ENVELOPE_BYTES > self.max_message_bytes {
            let message = format!("The result is larger than a message of {} bytes.", self.max_message_bytes);
            answer.outcome = Some(Outcome::Error(failure("result_too_large", message)));
        }
        self.send(worker_frame::Kind::Answer(answer));
    }

    /// Asks for no more work; what is held is finished, within a bound (5.9).
    fn drain(&mut self) {
        self.drain_by = Some(Instant::now() + DRAIN_TIMEOUT);
        if self.welcomed {
            self.send(worker_frame::Kind::Drain(Drain { reason: "the worker was asked to stop".to_owned() }));
        }
    }

    fn send(&mut self, kind: worker_frame::Kind) {
        self.outbox.push_back(frame(kind));
    }

    fn next_batch(&mut self) -> Vec<WorkerFrame> {
        let limit = BATCH_BYTES.min(self.max_message_bytes);
        let mut bytes = 0;
        let fits = self.outbox.iter().take(BATCH_FRAMES).take_while(|frame| {
            bytes += frame.encoded_len() + ENVELOPE_BYTES;
            bytes <= limit
        });
        let count = fits.count().max(1);
        self.outbox.drain(..count).collect()
    }
}

/// What the engine sends on one stream. Dropping it ends the stream, and nothing of it is read any more.
struct Responses {
    receiver: mpsc::Receiver<Result<ConnectResponse, Status>>,
    reader: AbortHandle,
}

impl Drop for Responses {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

/// Opens a stream in a task of its own, because a server may hold the headers back until it has read the hello.
fn open(mut client: WorkerServiceClient<Channel>, outbound: mpsc::Receiver<ConnectRequest>) -> Responses {
    // One message waits at most: the rest waits in the flow control of HTTP/2.
    let (sender, receiver) = mpsc::channel(1);
    let reader = tokio::spawn(async move {
        let mut responses = match client.connect(ReceiverStream::new(outbound)).await {
            Ok(response) => response.into_inner(),
            Err(status) => {
                let _ = sender.send(Err(status)).await;
                return;
            }
        };
        while let Some(next) = responses.message().await.transpose() {
            let last = next.is_err();
            if sender.send(next).await.is_err() || last {
                return;
            }
        }
    });
    Responses { receiver, reader: reader.abort_handle() }
}

/// Waits until a message can be written. On a stream that takes no more, for ever: its status comes by the other way.
async fn room(requests: &Option<mpsc::Sender<ConnectRequest>>) -> mpsc::Permit<'_, ConnectRequest> {
    if let Some(requests) = requests
        && let Ok(permit) = requests.reserve().await
    {
        return permit;
    }
    pending().await
}

async fn until(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => pending().await,
    }
}

fn frame(kind: worker_frame::Kind) -> WorkerFrame {
    WorkerFrame { kind: Some(kind) }
}

fn duration(value: Option<prost_types::Duration>) -> Option<Duration> {
    value.and_then(|value| value.try_into().ok())
}

/// What `panic!` said, which is text unless somebody panics with a value.
fn panic_text(panic: JoinError) -> String {
    match panic.into_panic().downcast::<String>() {
        Ok(text) => *text,
        Err(other) => (*other.downcast::<&str>().unwrap_or(Box::new("the handler panicked"))).to_owned(),
    }
}

/// A failure that is not tried again.
pub fn failure(code: &str, message: impl Into<String>) -> Failure {
    Failure { code: code.to_owned(), message: message.into(), ..Failure::default() }
}
