//! Calls a tool by its name and watches its progress: `caller add '{"a":1,"b":2}'`.

use std::process::ExitCode;

use spindle_example::engine_address;
use spindle_example::pb::{
    CallToolRequest, StreamCallToolRequest, call_tool_response::Outcome, call_update::Kind, content,
    tool_service_client::ToolServiceClient,
};
use tonic::transport::Endpoint;

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let mut given = std::env::args().skip(1);
    let (Some(name), Some(arguments)) = (given.next(), given.next()) else {
        return Err("give the name of a tool and its arguments as JSON".into());
    };
    let channel = Endpoint::from_shared(format!("http://{}", engine_address()))?.connect().await?;
    let call = Some(CallToolRequest { name, arguments, ..CallToolRequest::default() });
    let mut updates =
        ToolServiceClient::new(channel).stream_call_tool(StreamCallToolRequest { call }).await?.into_inner();

    while let Some(response) = updates.message().await? {
        match response.update.and_then(|update| update.kind) {
            Some(Kind::Progress(report)) => eprintln!("{}", report.activity),
            Some(Kind::Finished(finished)) => match finished.outcome {
                Some(Outcome::Result(result)) => {
                    for block in result.content.into_iter().filter_map(|content| content.kind) {
                        match block {
                            content::Kind::Text(text) => println!("{}", text.text),
                            other => println!("{other:?}"),
                        }
                    }
                }
                Some(Outcome::Error(failure)) => {
                    eprintln!("{}: {}", failure.code, failure.message);
                    return Ok(ExitCode::FAILURE);
                }
                None => return Err("the engine told no outcome".into()),
            },
            _ => {}
        }
    }
    Ok(ExitCode::SUCCESS)
}
