//! The generator MT19937, as numpy's `RandomState` is seeded and bounds it.
//!
//! Matsumoto and Nishimura, "Mersenne Twister: a 623-dimensionally equidistributed uniform pseudo-random number
//! generator" (1998), in the form with `init_genrand` of 2002.

const WORDS: usize = 624;

/// The distance of the words that are combined.
const MIDDLE: usize = 397;

/// The state of the generator.
pub(super) struct Mersenne {
    words: [u32; WORDS],
    next: usize,
}

impl Mersenne {
    pub(super) fn new(seed: u32) -> Self {
        let mut words = [seed; WORDS];
        let mut word = seed;
        for (place, to) in (1u32..).zip(&mut words[1..]) {
            word = (word ^ word >> 30).wrapping_mul(1_812_433_253).wrapping_add(place);
            *to = word;
        }
        Self { words, next: WORDS }
    }

    /// The next 32 bits.
    pub(super) fn bits32(&mut self) -> u32 {
        if self.next == WORDS {
            self.twist();
        }
        let mut bits = self.words[self.next];
        self.next += 1;
        bits ^= bits >> 11;
        bits ^= bits << 7 & 0x9d2c_5680;
        bits ^= bits << 15 & 0xefc6_0000;
        bits ^ bits >> 18
    }

    /// The next 64 bits, the high half first.
    pub(super) fn bits64(&mut self) -> u64 {
        let high = u64::from(self.bits32());
        high << 32 | u64::from(self.bits32())
    }

    /// A number up to a largest one, by leaving out those that are larger.
    pub(super) fn up_to(&mut self, largest: u64) -> u64 {
        let mask = u64::MAX.checked_shr(largest.leading_zeros()).unwrap_or(0);
        loop {
            let number = self.bits64() & mask;
            if number <= largest {
                return number;
            }
        }
    }

    fn twist(&mut self) {
        for place in 0..WORDS {
            let both = self.words[place] & 1 << 31 | self.words[(place + 1) % WORDS] & !(1 << 31);
            let odd = if both & 1 == 1 { 0x9908_b0df } else { 0 };
            self.words[place] = self.words[(place + MIDDLE) % WORDS] ^ both >> 1 ^ odd;
        }
        self.next = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The 10,000th number of the seed 5489 is part of the C++ standard ([rand.predef]).
    #[test]
    fn the_ten_thousandth_number_is_that_of_the_standard() {
        let mut mersenne = Mersenne::new(5489);
        let numbers: Vec<u32> = (0..10_000).map(|_| mersenne.bits32()).collect();
        assert_eq!((numbers[0], numbers[9_999]), (3_499_211_612, 4_123_659_995));
    }

    #[test]
    fn bounded_numbers_stay_within() {
        let mut mersenne = Mersenne::new(1);
        assert_eq!(mersenne.up_to(0), 0);
        let numbers: Vec<u64> = (0..1_000).map(|_| mersenne.up_to(4)).collect();
        assert!((0..5).all(|number| numbers.contains(&number)) && numbers.iter().all(|&number| number < 5));
        assert!((0..100).map(|_| mersenne.up_to(u64::MAX)).max() > Some(u64::MAX / 2));
    }
}
