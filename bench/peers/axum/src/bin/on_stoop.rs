//! The same application on stoop: its public API with default limits and deadlines, except the number of
//! connections, and one worker, on the caller's thread, as the contender `stoop` has it.

use std::error::Error;

use stoop::{Server, ServerLimits, ServerTls, Versions};
use stoop_bench_peer::Arguments;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::of_process("axum-stoop");
    let mut limits = ServerLimits::default();
    limits.connections_max = usize::MAX;
    let mut server = Server::listen(arguments.listen)?.workers(1).limits(limits);
    if let Some((certificate, key)) = arguments.tls {
        server = server.tls(ServerTls::builder().certificate_files(certificate, key).build()?);
    }
    if arguments.http2 {
        server = server.versions(Versions::Http2);
    }
    server.run_blocking(stoop_axum::handler(stoop_bench_axum::router()), |_| {})?;
    Ok(())
}
