//! The named settings of a store record.

use super::{Decoded, Malformed};

const RETENTION: &str = "retention-millis";

/// What a store was told at its creation beyond its design and its analyser.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    /// After so many milliseconds a document expires.
    pub(crate) retention_millis: Option<u64>,
}

/// Why settings cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SettingsError {
    /// The build does not know this name: the store needs a later one.
    Unknown(String, String),
    Malformed(Malformed),
}

impl Settings {
    pub(crate) fn encode(self) -> Vec<(String, String)> {
        let retention = self.retention_millis.map(|millis| (RETENTION.to_owned(), millis.to_string()));
        retention.into_iter().collect()
    }

    pub(crate) fn decode(settings: &[(String, String)]) -> Result<Self, SettingsError> {
        let mut decoded = Self::default();
        for (name, value) in settings {
            match name.as_str() {
                RETENTION => decoded.retention_millis = Some(positive(name, value).map_err(SettingsError::Malformed)?),
                _ => return Err(SettingsError::Unknown(name.clone(), value.clone())),
            }
        }
        // One spelling of each number, each name once, in the order of `encode`.
        if decoded.encode() == settings {
            Ok(decoded)
        } else {
            Err(SettingsError::Malformed(Malformed(format!(
                "the settings {settings:?} are not written as the format says"
            ))))
        }
    }
}

fn positive(name: &str, value: &str) -> Decoded<u64> {
    let number = value.parse().ok().filter(|&number| number > 0);
    number.ok_or_else(|| Malformed(format!("the setting {name} is {value:?} instead of a number above 0")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    #[test]
    fn settings_come_back_and_others_are_refused() {
        for settings in [Settings::default(), Settings { retention_millis: Some(u64::MAX) }] {
            assert_eq!(Settings::decode(&settings.encode()), Ok(settings));
        }
        assert_eq!(
            Settings::decode(&pairs(&[("colour", "red")])),
            Err(SettingsError::Unknown("colour".into(), "red".into()))
        );
        for value in ["0", "-1", "", "5s", "05", "+5"] {
            assert!(
                matches!(Settings::decode(&pairs(&[(RETENTION, value)])), Err(SettingsError::Malformed(_))),
                "{value}"
            );
        }
        assert!(Settings::decode(&pairs(&[(RETENTION, "5"), (RETENTION, "5")])).is_err());
    }
}
