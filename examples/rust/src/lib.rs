//! What a worker and a caller of Spindle share: the generated messages and clients, and the worker's stream.

/// Generated from `proto/spindle/v1` by `build.rs`.
#[allow(clippy::all)]
pub mod pb {
    tonic::include_proto!("spindle.v1");
}

pub mod worker_stream;

/// `HOST:PORT` of the engine, from the environment.
pub fn engine_address() -> String {
    std::env::var("SPINDLE_ADDRESS").unwrap_or_else(|_| "127.0.0.1:7433".to_owned())
}
