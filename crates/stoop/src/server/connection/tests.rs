//! A connection is `Send` exactly when its handler's future and body are, and small.

use std::io;
use std::marker::PhantomData;
use std::rc::Rc;

use super::*;
use crate::body::Body;
use crate::handler::{Answer, IntoHandler};
use crate::limits::ServerLimits;
use crate::request::Request;
use crate::response::Response;
use crate::server::control::Control;
use crate::versions::Versions;

/// `SEND` of this is true for types that are `Send`: an inherent constant comes before a trait's.
struct Is<T>(PhantomData<T>);
trait Otherwise {
    const SEND: bool = false;
}
impl<T> Otherwise for Is<T> {}
impl<T: Send> Is<T> {
    const SEND: bool = true;
}

/// A handler with that future and that body.
struct Polled<F, B>(PhantomData<fn() -> (F, B)>);

impl<F, B> Handler for Polled<F, B>
where
    F: Future<Output = Response<B>> + 'static,
    B: http_body::Body<Data = bytes::Bytes, Error = io::Error> + 'static,
{
    type Body = B;
    type Output = Response<B>;
    type Future = F;
    fn call(&self, _: Request) -> Answer<F, B> {
        unreachable!("only its types matter")
    }
}

type Sendable<B> = Pin<Box<dyn Future<Output = Response<B>> + Send>>;
type Bound<B> = Pin<Box<dyn Future<Output = Response<B>>>>;
type SendableBody = dyn http_body::Body<Data = bytes::Bytes, Error = io::Error> + Send;
type BoundBody = dyn http_body::Body<Data = bytes::Bytes, Error = io::Error>;

#[test]
fn a_connection_is_send_exactly_when_its_handlers_future_and_body_are() {
    type Yes = Pin<Box<SendableBody>>;
    type No = Pin<Box<BoundBody>>;
    const {
        assert!(Is::<ServerConnection<Polled<Sendable<Yes>, Yes>>>::SEND);
        assert!(!Is::<ServerConnection<Polled<Bound<Yes>, Yes>>>::SEND);
        assert!(!Is::<ServerConnection<Polled<Sendable<No>, No>>>::SEND);
        assert!(!Is::<ServerConnection<Polled<Bound<No>, No>>>::SEND);
        assert!(!Is::<Rc<()>>::SEND);
    }
    fn send<T: Send>(_: &T) {}
    let handler = (async |_: Request| Response::<Body>::from_text("hello")).into_handler();
    let limits = Arc::new(ServerLimits::default());
    let core = Core::new(handler, limits, Arc::new(Control::default()), Versions::All);
    let (io, _) = stoop_io::Memory::pair(1);
    let registration = Registration::extra(core.control.clone());
    send(&ServerConnection::new(io.into(), core, Timer::precise(), registration, None));
}

/// What an idle connection keeps: its task is this and some 130 bytes, the socket's
/// registration 256, and its timer 48.
#[test]
fn a_connection_is_small() {
    let size = size_of::<ServerConnection<crate::handler::PlainHandler<fn(Request) -> Response>>>();
    assert!(size <= 704, "{size} bytes");
}
