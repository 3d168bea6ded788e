//! Functions of up to ten arguments, each number written out: what they are called with, and what endpoints they are.

use std::future::Future;
use std::sync::Arc;

use stoop::handler::{Async, Plain};

use crate::extract::argument::{FromContent, FromHead, Head, ViaHead};
use crate::extract::function::{
    Call, Function, Heads, IntoEndpoint, NoArguments, Nothing, Returned,
};
use crate::extract::rejection::Rejection;
use crate::route::mode::{Local, Mode, Shared};
use crate::route::states::Needs;

/// How functions are called, and what their heads are made of.
macro_rules! call {
    ($(($($argument:ident)*))*) => {$(
        // Each argument has the name of its type.
        #[allow(non_snake_case)]
        impl<F, R, $($argument,)* L> Call<($($argument,)*), L> for F
        where
            F: Fn($($argument,)* L) -> R,
        {
            type Output = R;
            #[inline]
            fn call(&self, ($($argument,)*): ($($argument,)*), last: L) -> R {
                self($($argument,)* last)
            }
        }

        // Each argument has the name of its type.
        #[allow(non_snake_case)]
        impl<$($argument: FromHead),*> Heads for ($($argument,)*) {
            #[inline]
            fn from_head(_head: &Head<'_>) -> Result<Self, Rejection> {
                let mut _all: Option<Rejection> = None;
                $(let $argument = keep($argument::from_head(_head), &mut _all);)*
                match (_all, ($($argument,)*)) {
                    (None, ($(Some($argument),)*)) => Ok(($($argument,)*)),
                    (all, _) => Err(all.unwrap_or_else(Rejection::none)),
                }
            }

            fn needs(_needs: &mut Needs) {
                $($argument::needs(_needs);)*
            }
        }
    )*};
}

/// The argument, or none, and its rejection with those that were there before.
#[inline]
fn keep<T>(argument: Result<T, Rejection>, all: &mut Option<Rejection>) -> Option<T> {
    match argument {
        Ok(argument) => Some(argument),
        Err(rejection) => {
            *all = Some(match all.take() {
                Some(before) => before.and(rejection),
                None => rejection,
            });
            None
        }
    }
}

impl<F: Fn() -> R, R> Call<NoArguments, Nothing> for F {
    type Output = R;
    #[inline]
    fn call(&self, _: NoArguments, _: Nothing) -> R {
        self()
    }
}

/// Functions as endpoints of a mode: by the types of their arguments, so that the compiler finds out what they are.
macro_rules! into_endpoint {
    ($mode:ident, ($($send:ident + $sync:ident)?), $($arguments:tt)*) => {
        impl<F, R> IntoEndpoint<$mode, (Plain<R>,)> for F
        where
            F: Fn() -> R + Clone $(+ $send + $sync)? + 'static,
            R: Returned + 'static,
        {
            fn into_endpoint(self) -> Arc<<$mode as Mode>::Endpoint> {
                Arc::new(Function::<F, Plain<R>, NoArguments, Nothing, ViaHead>::new(self))
            }
        }

        impl<F, W, R> IntoEndpoint<$mode, (Async<W>,)> for F
        where
            F: Fn() -> W + Clone $(+ $send + $sync)? + 'static,
            W: Future<Output = R> $(+ $send)? + 'static,
            R: Returned,
        {
            fn into_endpoint(self) -> Arc<<$mode as Mode>::Endpoint> {
                Arc::new(Function::<F, Async<W>, NoArguments, Nothing, ViaHead>::new(self))
            }
        }

        into_endpoint!(@each $mode, $($send + $sync)?; $($arguments)*);
    };
    (@each $mode:ident, $send:ident + $sync:ident; $(($($argument:ident)*))*) => {$(
        into_endpoint!(@one $mode, (Send), (Send + Sync), ($($argument)*));
    )*};
    (@each $mode:ident, ; $(($($argument:ident)*))*) => {$(
        into_endpoint!(@one $mode, (Sized), (Sized), ($($argument)*));
    )*};
    (@one $mode:ident, ($send:ident), ($($both:tt)*), ($($argument:ident)*)) => {
        impl<F, R, $($argument,)* L, V> IntoEndpoint<$mode, (Plain<R>, ($($argument,)*), L, V)> for F
        where
            F: Fn($($argument,)* L) -> R + Clone + $($both)* + 'static,
            R: Returned + 'static,
            $($argument: FromHead + $send + 'static,)*
            L: FromContent<V> + $send + 'static,
            V: 'static,
        {
            fn into_endpoint(self) -> Arc<<$mode as Mode>::Endpoint> {
                Arc::new(Function::<F, Plain<R>, ($($argument,)*), L, V>::new(self))
            }
        }

        impl<F, W, R, $($argument,)* L, V> IntoEndpoint<$mode, (Async<W>, ($($argument,)*), L, V)>
            for F
        where
            F: Fn($($argument,)* L) -> W + Clone + $($both)* + 'static,
            W: Future<Output = R> + $send + 'static,
            R: Returned,
            $($argument: FromHead + $send + 'static,)*
            L: FromContent<V> + $send + 'static,
            V: 'static,
        {
            fn into_endpoint(self) -> Arc<<$mode as Mode>::Endpoint> {
                Arc::new(Function::<F, Async<W>, ($($argument,)*), L, V>::new(self))
            }
        }
    };
}

macro_rules! arities {
    ($($arguments:tt)*) => {
        call!($($arguments)*);
        into_endpoint!(Shared, (Send + Sync), $($arguments)*);
        into_endpoint!(Local, (), $($arguments)*);
    };
}

arities! {
    ()
    (A1)
    (A1 A2)
    (A1 A2 A3)
    (A1 A2 A3 A4)
    (A1 A2 A3 A4 A5)
    (A1 A2 A3 A4 A5 A6)
    (A1 A2 A3 A4 A5 A6 A7)
    (A1 A2 A3 A4 A5 A6 A7 A8)
    (A1 A2 A3 A4 A5 A6 A7 A8 A9)
}
