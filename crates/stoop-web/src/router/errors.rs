//! [`RouterError`]: everything that is wrong with the description of a router.

use std::fmt;

use stoop::Method;

/// Why a router cannot be built: all that is wrong with it, a line each.
///
/// ```
/// use stoop_web::{Router, get};
///
/// let router = Router::new()
///     .route("/users/{id}", get(|| "one"))
///     .route("/users/{name}", get(|| "the same"));
/// let error = router.build().err().unwrap();
/// assert_eq!(error.to_string(), "`/users/{name}` and `/users/{id}` match the same paths");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouterError(pub(crate) Vec<RouterProblem>);

impl RouterError {
    /// All that is wrong.
    pub fn problems(&self) -> &[RouterProblem] {
        &self.0
    }
}

impl fmt::Display for RouterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for RouterError {}

/// One thing that is wrong with a router.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RouterProblem {
    /// Two patterns match the same paths.
    Conflict {
        /// The one that was added last.
        pattern: String,
        /// The one that was there before.
        with: String,
    },
    /// A pattern has two endpoints for a method.
    Method {
        /// The pattern.
        pattern: String,
        /// The method; `None` for all of them.
        method: Option<Method>,
    },
    /// A pattern, a prefix or a host is malformed.
    Pattern {
        /// What was given.
        pattern: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// An endpoint asks for state that the router has not.
    State {
        /// The pattern of the endpoint; empty for a fallback.
        pattern: String,
        /// The type it asks for.
        name: &'static str,
    },
    /// State of the same type was given twice.
    StateTwice {
        /// The type.
        name: &'static str,
    },
    /// Two fallbacks for the same.
    Fallback {
        /// The prefix that both are for; empty for the whole router.
        prefix: String,
    },
}

impl fmt::Display for RouterProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflict { pattern, with } => {
                write!(f, "`{pattern}` and `{with}` match the same paths")
            }
            Self::Method { pattern, method: Some(method) } => {
                write!(f, "`{pattern}` has two endpoints for {method}")
            }
            Self::Method { pattern, method: None } => {
                write!(f, "`{pattern}` has two endpoints for any method")
            }
            Self::Pattern { pattern, why } => write!(f, "`{pattern}`: {why}"),
            Self::State { pattern, name } if pattern.is_empty() => {
                write!(
                    f,
                    "a fallback asks for state of the type `{name}`, which the router has not"
                )
            }
            Self::State { pattern, name } => {
                write!(
                    f,
                    "`{pattern}` asks for state of the type `{name}`, which the router has not"
                )
            }
            Self::StateTwice { name } => write!(f, "state of the type `{name}` is given twice"),
            Self::Fallback { prefix } if prefix.is_empty() => {
                f.write_str("there are two fallbacks")
            }
            Self::Fallback { prefix } => write!(f, "there are two fallbacks below `{prefix}`"),
        }
    }
}
