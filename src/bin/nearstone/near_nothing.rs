//! Texts that have no fingerprint, counted.

use nearstone::TextSketch;

use crate::progress::thousands;

/// How many texts are near nothing, by the reason.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NearNothing {
    pub(crate) without_features: u64,
    pub(crate) too_short: u64,
}

impl NearNothing {
    /// Counts a text without a fingerprint; of any other one nothing.
    pub(crate) fn count(&mut self, sketch: TextSketch) {
        match sketch {
            TextSketch::TooShort { .. } => self.too_short += 1,
            TextSketch::NoFeatures => self.without_features += 1,
            _ => {}
        }
    }

    pub(crate) fn total(self) -> u64 {
        self.without_features + self.too_short
    }

    /// Says why a text is near nothing.
    pub(crate) fn why(sketch: TextSketch) -> &'static str {
        match sketch {
            TextSketch::TooShort { .. } => "the text has fewer features than the analyser asks for",
            _ => "the text has no features (no letter, digit or emoji)",
        }
    }

    /// The figures in a line, for those that are left out.
    pub(crate) fn shown(self) -> String {
        let short =
            if self.too_short > 0 { format!(", too short {}", thousands(self.too_short)) } else { String::new() };
        format!("without features {}{short}", thousands(self.without_features))
    }
}
