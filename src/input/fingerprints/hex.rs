//! Fingerprints in hexadecimal digits, one a line.

use super::lines::Lines;
use super::{FingerprintBatch, FingerprintEncoding, Reader};
use crate::input::BadRecord;

/// The lines of a file.
#[derive(Debug)]
pub(super) struct Hex(pub(super) Lines);

impl Reader for Hex {
    fn fill(&mut self, batch: &mut FingerprintBatch) -> Result<(), BadRecord> {
        while !batch.is_full() {
            let Some((line, text)) = self.0.next()? else { break };
            let fingerprint = FingerprintEncoding::Hex.parse(text).map_err(|refusal| batch.bad(line, refusal))?;
            batch.push(None, fingerprint);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::fingerprints::tests::drain;
    use crate::input::stream::Stream;

    #[test]
    fn bad_lines_cost_only_themselves_whatever_the_buffer() {
        let text = b"ffffffffffffffff\r\n\n0x1\nxyz\n 8000000000000000 \n00000000000000000\n-1\n0";
        for capacity in 1..40 {
            let (found, errors) = drain(Hex(Lines::new(Stream::of(&text[..], capacity), capacity, 64)), false);
            assert_eq!(found.iter().map(|(_, bits)| *bits).collect::<Vec<_>>(), [u64::MAX, 1, 1 << 63, 0]);
            let places: Vec<_> = errors.iter().map(|e| e.split(": ").next().unwrap()).collect();
            assert_eq!(places, ["f:4", "f:6", "f:7"], "{errors:?}");
            assert!(errors[1].contains("\"00000000000000000\" is not 1 to 16 hexadecimal digits"), "{errors:?}");
        }
    }
}
