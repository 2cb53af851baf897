//! Analysers as people write them: `web`, `words+shingle=3`, `chars:3+weights=log`.

use std::fmt::Write;
use std::str::FromStr;

use super::{Analyser, Preset, Weights};

/// Why a text does not name an analyser.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseAnalyserError(String);

/// A preset or `chars:N`, and after it any of `+shingle=N`, `+weights=binary|count|log`, `+min-features=N`,
/// `+diacritics=remove` and `+han=simplify`.
///
/// ```
/// use nearstone::{Analyser, Preset, Weights};
///
/// assert_eq!("web".parse(), Ok(Analyser::preset(Preset::Web)));
/// assert_eq!("words+shingle=3".parse(), Ok(Analyser::new(3)));
/// assert_eq!("chars:3+weights=log".parse(), Ok(Analyser::characters(3).weights(Weights::Log)));
/// let error = "wide".parse::<Analyser>().unwrap_err().to_string();
/// assert_eq!(error, "there is no analyser \"wide\": name one of web, short, code, words, 1e0ng, classic, or chars:N");
/// ```
impl FromStr for Analyser {
    type Err = ParseAnalyserError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.split('+');
        let first = parts.next().unwrap_or_default();
        let preset = Preset::ALL.into_iter().find(|preset| preset.name() == first);
        let mut analyser = match (preset, first.strip_prefix("chars:")) {
            (Some(preset), _) => Self::preset(preset),
            (None, Some(n)) => Self::characters(number(n, first)?),
            (None, None) => {
                let names = Preset::ALL.map(Preset::name).join(", ");
                return Err(ParseAnalyserError(format!(
                    "there is no analyser {first:?}: name one of {names}, or chars:N"
                )));
            }
        };
        for part in parts {
            analyser = analyser.with_part(part)?;
        }
        Ok(analyser)
    }
}

impl Analyser {
    /// Returns what [`Analyser::from_str`] makes this analyser of.
    ///
    /// ```
    /// use nearstone::Analyser;
    ///
    /// assert_eq!(Analyser::default().shingle(3).min_features(5).specification(), "web+shingle=3+min-features=5");
    /// ```
    #[must_use]
    pub fn specification(&self) -> String {
        let presets = Preset::ALL.map(|preset| (preset.name().to_owned(), Self::preset(preset)));
        let characters = Self::characters(self.shingle_tokens);
        let bases = presets.into_iter().chain([(format!("chars:{}", self.shingle_tokens), characters)]);
        // The shortest way: a preset by its own name.
        let ways = bases.filter_map(|(name, base)| self.made_of(name, base));
        ways.min_by_key(|way| way.matches('+').count()).unwrap_or_else(|| self.to_string())
    }

    /// What the other parts are called after a base, if it can be changed to this analyser.
    fn made_of(&self, mut name: String, mut base: Self) -> Option<String> {
        if base.shingle_tokens != self.shingle_tokens {
            base = base.shingle(self.shingle_tokens);
            let _ = write!(name, "+shingle={}", self.shingle_tokens);
        }
        if base.weights != self.weights {
            base = base.weights(self.weights);
            let _ = write!(name, "+weights={}", self.weights.name());
        }
        if base.min_features != self.min_features {
            base = base.min_features(self.min_features);
            let _ = write!(name, "+min-features={}", self.min_features);
        }
        if base.diacritics && !self.diacritics {
            base = base.without_diacritics();
            name += "+diacritics=remove";
        }
        if !base.simplifies_han && self.simplifies_han {
            base = base.with_simplified_han();
            name += "+han=simplify";
        }
        (base == *self).then_some(name)
    }

    fn with_part(self, part: &str) -> Result<Self, ParseAnalyserError> {
        Ok(match part.split_once('=') {
            Some(("shingle", n)) => self.shingle(number(n, part)?),
            Some(("min-features", n)) => self.min_features(number(n, part)?),
            Some(("weights", name)) => {
                let weights = Weights::ALL.into_iter().find(|weights| weights.name() == name);
                self.weights(weights.ok_or_else(|| unknown(part))?)
            }
            Some(("diacritics", "remove")) => self.without_diacritics(),
            Some(("han", "simplify")) => self.with_simplified_han(),
            _ => return Err(unknown(part)),
        })
    }
}

fn unknown(part: &str) -> ParseAnalyserError {
    ParseAnalyserError(format!(
        "an analyser has no part {part:?}: give shingle=N, weights=binary, count or log, min-features=N, \
         diacritics=remove or han=simplify"
    ))
}

fn number<N: FromStr + PartialEq + Default>(text: &str, part: &str) -> Result<N, ParseAnalyserError> {
    let number = text.parse().ok().filter(|number| *number != N::default());
    number.ok_or_else(|| ParseAnalyserError(format!("{part:?} needs a number of at least 1")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_can_be_set() {
        let web = Analyser::default();
        let rows = [
            ("web+shingle=3", web.clone().shingle(3)),
            ("web+weights=count+min-features=5", web.clone().weights(Weights::Count).min_features(5)),
            ("web+diacritics=remove", web.without_diacritics()),
            ("words+han=simplify", Analyser::new(2).with_simplified_han()),
            ("words", Analyser::new(2)),
            ("chars:2", Analyser::characters(2)),
            ("short", Analyser::preset(Preset::Short)),
            ("1e0ng", Analyser::preset(Preset::OneE0ng)),
        ];
        for (text, analyser) in rows {
            assert_eq!(text.parse(), Ok(analyser.clone()), "{text}");
            let specification = analyser.specification();
            assert!(specification.len() <= text.len(), "{specification} for {text}");
            assert_eq!(specification.parse(), Ok(analyser), "{text}");
        }
        for text in ["", "Web", "web ", "chars", "chars:", "chars:0", "chars:x", "web+", "web+shingle", "web+shingle=0"]
        {
            assert!(text.parse::<Analyser>().is_err(), "{text}");
        }
        for text in ["web+weights=idf", "web+shingle=65536", "web+han=keep", "web+min-features=-1", "+shingle=2"] {
            assert!(text.parse::<Analyser>().is_err(), "{text}");
        }
    }
}
