//! The contenders that take part in a work, obtained and ready to start, and those that cannot.

use anyhow::{Context, Result};

use crate::bench::Bench;
use crate::contender::Contender;
use crate::report::SkippedContender;
use crate::run_client::ClientProgram;
use crate::run_server::{ServerMode, ServerProgram};
use crate::series::Series;

/// Contenders that can take part, and those that cannot.
pub(crate) struct Participants<C> {
    pub(crate) ready: Vec<(Series, C)>,
    pub(crate) skipped: Vec<SkippedContender>,
}

impl<C> Participants<C> {
    /// Obtains each of the contenders `names` with `obtain`, which returns its version too, or why it
    /// cannot take part.
    pub(crate) fn obtain(
        bench: &Bench,
        names: &[String],
        obtain: impl Fn(&Contender) -> Result<(Option<String>, C), String>,
    ) -> Result<Self> {
        let mut participants = Self { ready: Vec::new(), skipped: Vec::new() };
        // A name that does not exist is found before anything is built.
        let load = |name: &String| bench.contender(name);
        let contenders: Vec<Contender> = names.iter().map(load).collect::<Result<_>>()?;
        for contender in contenders {
            let name = contender.name.clone();
            match obtain(&contender) {
                Ok((version, program)) => {
                    let series = Series::new(&name, &contender.about, version);
                    participants.ready.push((series, program));
                }
                Err(why) => {
                    eprintln!("skipped {name}: {why}");
                    participants.skipped.push(SkippedContender { name, why });
                }
            }
        }
        Ok(participants)
    }

    /// Keeps those for which `check` succeeds. The others are skipped, for the reason that it returns.
    pub(crate) fn retain(&mut self, check: impl Fn(&C) -> Result<(), String>) {
        let Self { ready, skipped } = self;
        ready.retain(|(series, program)| match check(program) {
            Ok(()) => true,
            Err(why) => {
                skipped.push(SkippedContender { name: series.name.clone(), why });
                false
            }
        });
    }
}

/// The contenders `names` as servers that can be started in `mode`.
pub(crate) fn servers(
    bench: &Bench,
    names: &[String],
    mode: ServerMode,
) -> Result<Participants<ServerProgram>> {
    Participants::obtain(bench, names, |contender| {
        let server =
            contender.server.clone().ok_or("it is no server; leave it out of this work")?;
        let program = bench.obtain(&server.program)?;
        let version = program.version.clone();
        let server_program = ServerProgram::new(server, program);
        server_program.check_mode(mode)?;
        Ok((version, server_program))
    })
}

/// The contender `name` as the server where clients are measured.
pub(crate) fn server(
    bench: &Bench,
    name: &str,
    mode: ServerMode,
) -> Result<(Series, ServerProgram)> {
    let mut servers = servers(bench, &[name.to_owned()], mode)?;
    servers.ready.pop().with_context(|| {
        let why = servers.skipped.first().map_or("no reason given", |skipped| &skipped.why);
        format!("{name} cannot serve: {why}")
    })
}

/// The contenders `names` as clients.
pub(crate) fn clients(bench: &Bench, names: &[String]) -> Result<Participants<ClientProgram>> {
    Participants::obtain(bench, names, |contender| {
        let client =
            contender.client.clone().ok_or("it is no client; leave it out of this work")?;
        let program = bench.obtain(&client.program)?;
        let version = program.version.clone();
        Ok((version, ClientProgram { client, program }))
    })
}
