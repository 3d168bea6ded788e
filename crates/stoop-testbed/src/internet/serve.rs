//! Serves the connections of all hosts from one listener: the host of each is found out when it comes.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::address;
use super::good::serve_good;
use super::network::Network;
use super::site::Site;
use super::sni;
use crate::certificates::ShownCertificate;
use crate::connection::{ByteStream, Disconnected, OriginConnection};
use crate::log::EntryEnd;
use crate::log_line::LogLine;
use crate::origin::{
    ACCEPT_PAUSE, Behaviour, PREFACE, ScriptSettings, reset_on_close, serve_behaviour,
};
use crate::secure;

/// Accepts connections for ever. Dropped, it closes the port and every connection.
pub(super) async fn accept(net: Arc<Network>, listener: TcpListener, tls: bool) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok((stream, peer)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let Ok(permit) = net.permits.clone().acquire_owned().await else { return };
        let net = net.clone();
        connections.spawn(async move {
            serve_connection(net, stream, peer, tls).await;
            drop(permit);
        });
    }
}

async fn serve_connection(net: Arc<Network>, stream: TcpStream, peer: SocketAddr, tls: bool) {
    let open = net.counters.accept();
    // The listener is bound to the loopback device; this check is what isolation rests on.
    let Some(local) = stream.local_addr().ok().filter(|local| local.ip().is_loopback()) else {
        net.counters.stranger();
        reset_on_close(&stream);
        return;
    };
    let mut line = LogLine::new(net.log.clone(), net.counters.clone(), open);
    let host = match local.ip() {
        _ if net.shared && !tls => None,
        _ if net.shared => {
            let name = sni::peek(&stream).await;
            name.and_then(|name| address::parse(&name, net.plan.domain())).map(|(_, host)| host)
        }
        IpAddr::V4(local) => address::host(local),
        IpAddr::V6(_) => None,
    };
    if let Some(host) = host {
        line.about(Some(host), &address::name(address::Prefix::Apex, host, net.plan.domain()));
    }
    let site = host.map_or(Site::Good, |host| net.plan.site(host, tls));
    let mut showing = ShownCertificate::Good;
    if let Site::Scripted { behaviour, .. } = &site {
        if behaviour.resets() {
            reset_on_close(&stream);
        }
        if behaviour.breaks_handshake() {
            return serve(net, OriginConnection::new(stream, line), site, host, tls).await;
        }
        showing = behaviour.certificate();
    }
    if !tls {
        return by_name(net, OriginConnection::new(stream, line), site, host).await;
    }
    if site == Site::Good && host.is_some_and(|host| net.plan.offers_http2(host)) {
        showing = ShownCertificate::Http2;
    }
    match secure::accept(net.certificates.show(showing), stream, peer).await {
        Ok(stream) => serve(net, OriginConnection::new(stream, line), site, host, tls).await,
        Err(Disconnected(ended)) => line.end(ended),
    }
}

/// Serves plain HTTP at a shared address, where only the first request names the host.
async fn by_name(
    net: Arc<Network>,
    mut connection: OriginConnection<TcpStream>,
    site: Site,
    host: Option<u64>,
) {
    if host.is_some() {
        return serve(net, connection, site, host, false).await;
    }
    let request = match connection.peek_request().await {
        Ok((request, _)) => request,
        // The well-behaved server answers a malformed request.
        Err(Disconnected(EntryEnd::BadRequest)) => {
            return serve(net, connection, Site::Good, None, false).await;
        }
        Err(Disconnected(ended)) => return connection.line.end(ended),
    };
    let named = address::parse(&request.host, net.plan.domain()).map(|(_, host)| host);
    connection.line.about(named, &request.host);
    let site = named.map_or(Site::Good, |host| net.plan.site(host, false));
    if let Site::Scripted { behaviour, .. } = &site
        && behaviour.resets()
    {
        reset_on_close(connection.stream());
    }
    serve(net, connection, site, named, false).await;
}

async fn serve<S: ByteStream + 'static>(
    net: Arc<Network>,
    mut connection: OriginConnection<S>,
    mut site: Site,
    host: Option<u64>,
    tls: bool,
) {
    if let Site::Scripted { behaviour: Behaviour::BadHttp2 { .. }, .. } = &site {
        match connection.begins_with(PREFACE).await {
            Ok(true) => {}
            Ok(false) => site = Site::Good,
            Err(Disconnected(ended)) => return connection.line.end(ended),
        }
    }
    // Boxed, so that a connection takes the memory that its host needs and not the most any host may.
    match site {
        Site::Good => Box::pin(serve_good(net, connection, host, tls)).await,
        Site::Scripted { behaviour, delay } => {
            Box::pin(serve_behaviour(
                &behaviour,
                &ScriptSettings { delay, ..ScriptSettings::default() },
                &mut connection,
            ))
            .await;
            // A connection that ends between two requests has no line; one without a request gets this.
            connection.line.end(EntryEnd::ClientClosed);
        }
    }
}
