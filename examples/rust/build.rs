//! Generates the messages and clients from the protos of this repository. protox is a protoc written in Rust, so
//! there is nothing to install.
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let protos = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto");
    println!("cargo:rerun-if-changed={}", protos.display());
    let files =
        protox::compile(["spindle/v1/worker_service.proto", "spindle/v1/tool_service.proto"], [protos])?;
    tonic_prost_build::configure()
        .build_server(false)
        // Its constructor `connect` would have the name of the method that opens a worker's stream.
        .build_transport(false)
        // By far the largest outcome of an answer, and a rare one.
        .boxed(".spindle.v1.Answer.outcome.decision")
        .compile_fds(files)?;
    Ok(())
}
