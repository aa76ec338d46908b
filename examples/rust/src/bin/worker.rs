//! The standard tools of docs/conformance.md, on the stream of `worker_stream.rs`.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use spindle_example::engine_address;
use spindle_example::pb::{content::Kind as Block, *};
use spindle_example::worker_stream::{Call, Outcome, WorkerOptions, failure, serve};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;

/// One grey pixel.
const PNG: &[u8] = include_bytes!("../pixel.png");

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let options = WorkerOptions {
        address: engine_address(),
        name: "example-rust".to_owned(),
        tools: offers(),
        max_in_flight: 16,
    };
    serve(options, run, async move {
        terminate.recv().await;
    })
    .await?;
    Ok(())
}

#[derive(Deserialize)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(Deserialize)]
struct Fail {
    code: Option<String>,
    message: String,
    #[serde(default)]
    retryable: bool,
}

#[derive(Deserialize)]
struct Flaky {
    failures: u32,
}

#[derive(Deserialize)]
struct Slow {
    ms: u64,
}

#[derive(Deserialize)]
struct Steps {
    steps: u32,
}

#[derive(Deserialize)]
struct Defer {
    timeout_ms: Option<u64>,
}

#[derive(Deserialize)]
struct Big {
    bytes: usize,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum How {
    Throw,
    Exit,
}

#[derive(Deserialize)]
struct Crash {
    how: How,
}

async fn run(call: Call) -> Result<Outcome, Failure> {
    // Arguments that do not match: the engine proposes what the model should read (1.2).
    let Some(arguments) = call.valid_json() else {
        return Ok(Outcome::Accept(AcceptProposal {}));
    };
    let ToolExecute { call_id, attempt, .. } = &call.execute;
    match call.execute.name.as_str() {
        // The value goes back as it came: reading it would change numbers and spelling.
        "echo" => Ok(Outcome::ValueJson(arguments.to_owned())),
        "add" => {
            let Add { a, b } = read(arguments)?;
            let sum = a.checked_add(b).ok_or_else(|| failure("tool_error", "The sum is too large."))?;
            Ok(Outcome::ValueJson(sum.to_string()))
        }
        "fail" => {
            let Fail { code, message, retryable } = read(arguments)?;
            let code = code.as_deref().unwrap_or("tool_error");
            Err(Failure { retryable, ..failure(code, message) })
        }
        "flaky" => {
            let Flaky { failures } = read(arguments)?;
            if *attempt <= failures {
                return Err(Failure {
                    retryable: true,
                    ..failure("flaky", format!("attempt {attempt} fails"))
                });
            }
            Ok(text(format!("attempt {attempt}")))
        }
        "slow" => {
            let Slow { ms } = read(arguments)?;
            // When the call is cancelled, this future is dropped here.
            sleep(Duration::from_millis(ms)).await;
            Ok(text(format!("slept {ms}")))
        }
        "progress" => {
            let Steps { steps } = read(arguments)?;
            for step in 1..=steps {
                call.progress(Progress {
                    completed: Some(step.into()),
                    total: Some(steps.into()),
                    activity: format!("step {step}"),
                    ..Progress::default()
                })
                .await;
                sleep(Duration::from_millis(5)).await;
            }
            Ok(text("done"))
        }
        "defer" => {
            let Defer { timeout_ms } = read(arguments)?;
            let timeout = timeout_ms.map(|ms| Duration::from_millis(ms).try_into()).transpose();
            let timeout = timeout.map_err(|_| failure("tool_error", "The timeout is too long."))?;
            Ok(Outcome::ToolDefer(ToolDeferAction { timeout, ..ToolDeferAction::default() }))
        }
        "image" => {
            Ok(result(Block::Image(MediaContent { data: PNG.to_vec(), mime_type: "image/png".to_owned() })))
        }
        "big" => {
            let Big { bytes } = read(arguments)?;
            Ok(text("x".repeat(bytes)))
        }
        "crash" => match read(arguments)? {
            Crash { how: How::Throw } => panic!("a bug in the handler"),
            Crash { how: How::Exit } => std::process::exit(70),
        },
        "context" => {
            let traceparent = call.trace_context.get("traceparent").map_or("", String::as_str);
            let context = json!({ "call_id": call_id, "attempt": attempt, "traceparent": traceparent });
            Ok(Outcome::ValueJson(context.to_string()))
        }
        name => Err(failure("tool_error", format!("This worker has no tool {name}."))),
    }
}

/// Reads arguments that the engine has checked. A schema says more than a Rust type can, `1.0` is an integer to it,
/// so this may still fail, and says so to the model.
fn read<'a, T: Deserialize<'a>>(arguments: &'a str) -> Result<T, Failure> {
    serde_json::from_str(arguments).map_err(|error| failure("invalid_arguments", error.to_string()))
}

fn text(text: impl Into<String>) -> Outcome {
    result(Block::Text(TextContent { text: text.into(), ..TextContent::default() }))
}

fn result(block: Block) -> Outcome {
    Outcome::Result(ToolResult { content: vec![Content { kind: Some(block) }], ..ToolResult::default() })
}

fn offers() -> Vec<ToolOffer> {
    let integer = json!({ "type": "integer" });
    let string = json!({ "type": "string" });
    let boolean = json!({ "type": "boolean" });
    let object = json!({ "type": "object" });
    let add = Tool {
        output_schema_json: integer.to_string(),
        annotations: Some(ToolAnnotations { read_only: Some(true), ..ToolAnnotations::default() }),
        ..tool(
            "add",
            json!({
                "type": "object",
                "properties": { "a": integer, "b": integer },
                "required": ["a", "b"],
                "additionalProperties": false,
            }),
        )
    };
    let fail = json!({
        "type": "object",
        "properties": { "code": string, "message": string, "retryable": boolean },
        "required": ["message"],
    });
    let flaky = Tool {
        retry: Some(RetryPolicy {
            max_attempts: Some(5),
            initial_backoff: Some(prost_types::Duration { seconds: 0, nanos: 10_000_000 }),
            ..RetryPolicy::default()
        }),
        ..tool(
            "flaky",
            json!({ "type": "object", "properties": { "failures": integer }, "required": ["failures"] }),
        )
    };
    let crash = json!({ "type": "object", "properties": { "how": { "enum": ["throw", "exit"] } }, "required": ["how"] });
    let tools = [
        tool("echo", object.clone()),
        add,
        tool("fail", fail),
        flaky,
        tool("slow", json!({ "type": "object", "properties": { "ms": integer }, "required": ["ms"] })),
        tool(
            "progress",
            json!({ "type": "object", "properties": { "steps": integer }, "required": ["steps"] }),
        ),
        tool("defer", json!({ "type": "object", "properties": { "timeout_ms": integer } })),
        tool("image", object.clone()),
        tool("big", json!({ "type": "object", "properties": { "bytes": integer }, "required": ["bytes"] })),
        tool("crash", crash),
        tool("context", object),
    ];
    tools.into_iter().map(|tool| ToolOffer { tool: Some(tool), max_concurrency: 0 }).collect()
}

fn tool(name: &str, input_schema: serde_json::Value) -> Tool {
    Tool {
        name: name.to_owned(),
        description: format!("The standard tool {name} of the conformance suite."),
        input_schema_json: input_schema.to_string(),
        ..Tool::default()
    }
}
