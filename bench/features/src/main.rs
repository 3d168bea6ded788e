//! `stoop-bench-features COUNT` sends so many requests to a handler in this process: nothing that a feature of
//! stoop adds is used.

use stoop::{Client, Error, Request};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let count: usize =
        std::env::args().nth(1).ok_or("usage: stoop-bench-features COUNT")?.parse()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let builder = Client::builder().handler(|_: Request| "Hello, world!");
    // It asks for content in codings by default, which is a use.
    #[cfg(feature = "compression")]
    let builder = builder.decode_content(false);
    let client = builder.build()?;
    runtime.block_on(async {
        for _ in 0..count {
            let response = client.send(Request::get("http://server.test/")?).await?;
            assert_eq!(response.into_body().bytes(100).await?, "Hello, world!");
        }
        Ok::<(), Error>(())
    })?;
    Ok(())
}
