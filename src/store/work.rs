//! How much one call may do.

/// Bounds of the work of one call; without them a call does what an exact answer takes.
///
/// They are for crowds: a template page that a site serves a million times, or a million pages whose
/// fingerprints share a prefix. An answer that was cut short says so.
///
/// ```
/// use nearstone::{Fingerprint, Limits, Options, SimhashStore, TableDesign};
///
/// # let dir = tempfile::tempdir()?;
/// let store = SimhashStore::create(dir.path().join("store"), &TableDesign::default(), &Options::new())?;
/// for page in 0..1000u32 {
///     store.insert(page.to_be_bytes(), &Fingerprint::new(0))?;
/// }
/// let first = store.with_limits(Limits::new().max_matches(10)).query(&Fingerprint::new(1), 3)?;
/// assert_eq!((first.len(), first.is_truncated()), (10, true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    pub(crate) max_candidates: Option<u64>,
    pub(crate) max_matches: Option<usize>,
}

impl Limits {
    /// No limits.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Compares at most so many stored sketches, over all tables; where documents expire, entries that have
    /// expired and are passed over count too. So do deleted entries of one sketch that lie in the way. A query
    /// that is cut short may lack any match.
    #[must_use]
    pub fn max_candidates(mut self, candidates: u64) -> Self {
        self.max_candidates = Some(candidates);
        self
    }

    /// Returns at most so many matches, the first of them: the nearest, and of equally near ones those with
    /// the smallest ids.
    #[must_use]
    pub fn max_matches(mut self, matches: usize) -> Self {
        self.max_matches = Some(matches);
        self
    }
}

/// What is left of the work that a call may do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    left: Option<u64>,
    is_cut: bool,
}

impl Work {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { left: limits.max_candidates, is_cut: false }
    }

    /// Takes one candidate, or notes that there was one too many.
    pub(crate) fn take(&mut self) -> bool {
        match &mut self.left {
            None => true,
            Some(0) => {
                self.is_cut = true;
                false
            }
            Some(left) => {
                *left -= 1;
                true
            }
        }
    }

    /// Whether as many candidates can be taken.
    pub(crate) fn allows(&self, candidates: u64) -> bool {
        self.left.is_none_or(|left| candidates <= left)
    }

    pub(crate) fn is_limited(&self) -> bool {
        self.left.is_some()
    }

    /// Notes that there was more than could be looked at.
    pub(crate) fn cut(&mut self) {
        self.is_cut = true;
    }

    /// How much may be done still.
    pub(crate) fn left(&self) -> Option<u64> {
        self.left
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut
    }
}
