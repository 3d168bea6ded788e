//! axum as its users run it: `axum::serve`, on one current-thread runtime. It speaks both versions of HTTP on
//! one port, and no TLS.

use std::io;

use stoop_bench_peer::Arguments;

fn main() {
    let arguments = Arguments::of_process("axum-serve");
    let outcome = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .and_then(|runtime| runtime.block_on(serve(&arguments)));
    if let Err(error) = outcome {
        eprintln!("axum-serve: {error}; is the address free? TLS it does not speak");
        std::process::exit(1);
    }
}

async fn serve(arguments: &Arguments) -> io::Result<()> {
    if arguments.tls.is_some() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let listener = stoop_bench_peer::listen(arguments.listen)?;
    let listener = axum::serve::ListenerExt::tap_io(listener, |stream| {
        // As every other contender's.
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, stoop_bench_axum::router()).await
}
