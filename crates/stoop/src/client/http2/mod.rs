//! A client's HTTP/2 connection, which many exchanges share.
//!
//! One task, the [`driver`], owns the transport and the machine. The owner of a response has an
//! [`exchange`], and both see its [`cell`]: the request on its way in, the response on its way out.
//! What is new for the driver waits in the [`SharedConnection`]'s state, or in a cell whose number was called.

mod driver;
pub(crate) mod exchange;
mod shared_exchange;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use stoop_io::PeerAddress;
use stoop_proto::BodySize;
use tokio::runtime::Id;

use crate::body::Body;
use crate::conn::http2::ready::Ready;

pub(crate) use driver::connect;
use shared_exchange::SharedExchange;

/// Streams that are used of a connection whose server has not said yet how many it allows: what RFC
/// 9113 §6.5.2 asks of servers to allow at least.
const STREAMS_ASSUMED: usize = 100;

/// A connection, as those see it who share it.
pub(crate) struct SharedConnection {
    state: Mutex<SharedState>,
    ready: Arc<Ready>,
    pub(crate) peer: PeerAddress,
    /// The runtime whose task drives it.
    runtime: Id,
}

#[derive(Default)]
struct SharedState {
    /// Requests for the driver, oldest first.
    orders: Vec<Order>,
    /// Content that was used up of streams that are over.
    consumed: u32,
    /// No further requests will come.
    closes: bool,
    /// The driver is gone.
    is_terminated: bool,
}

/// A request to be sent. Its head is in the cell.
pub(in crate::client) struct Order {
    cell: Arc<SharedExchange>,
    body: Body,
    size: BodySize,
    /// The deadline of everything.
    until: Option<Instant>,
}

impl SharedConnection {
    fn state(&self) -> MutexGuard<'_, SharedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a task of that runtime may use it: another one's is perhaps not run.
    pub(crate) fn is_of(&self, runtime: Id) -> bool {
        self.runtime == runtime
    }

    /// Ends the connection once what it was asked for is done.
    pub(crate) fn close(&self) {
        self.state().closes = true;
        self.ready.call();
    }

    /// Hands a request to the driver, or returns it if the connection is gone.
    pub(in crate::client) fn submit(&self, order: Order) -> Result<(), Order> {
        let mut state = self.state();
        if state.is_terminated {
            return Err(order);
        }
        state.orders.push(order);
        drop(state);
        self.ready.call();
        Ok(())
    }

    /// So much content of streams that are over was used up.
    fn consumed(&self, bytes: u32) {
        let mut state = self.state();
        state.consumed = state.consumed.saturating_add(bytes);
        drop(state);
        self.ready.call();
    }
}
