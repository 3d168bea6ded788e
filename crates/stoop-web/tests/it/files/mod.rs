//! Static files, in the order of RFC 9110's sections; then paths, directories and what is remembered.

mod codings;
mod conditions;
mod directories;
mod methods;
mod mounts;
mod paths;
mod ranges;
mod remembered;
mod tree;
mod wire;
