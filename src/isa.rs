//! Which instructions the processor has beyond those that every one of its kind has.
//!
//! A function that is compiled once for each set of instructions gives the same results with each: the source is one.

/// A set of instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Isa {
    /// What we compile for.
    Portable,
    /// x86-64 with AVX2 and its bit instructions.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// The same with AVX-512 as of Ice Lake and Zen 4: bits of a lane are counted, and bytes permuted, at once.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Isa {
    /// The widest set that this processor has.
    #[inline]
    pub(crate) fn detected() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            use std::sync::OnceLock;
            static DETECTED: OnceLock<Isa> = OnceLock::new();
            *DETECTED.get_or_init(Self::detect)
        }
        #[cfg(not(target_arch = "x86_64"))]
        Self::Portable
    }

    #[cfg(target_arch = "x86_64")]
    fn detect() -> Self {
        let has_avx2 = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        let has_avx512 = has_avx2
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vbmi2")
            && is_x86_feature_detected!("avx512vpopcntdq");
        match (has_avx512, has_avx2) {
            (true, _) => Self::Avx512,
            (_, true) => Self::Avx2,
            _ => Self::Portable,
        }
    }

    /// All sets that this processor has.
    #[allow(dead_code, reason = "for tests and benchmarks")]
    pub(crate) fn all() -> Vec<Self> {
        #[cfg(target_arch = "x86_64")]
        let all = [Self::Portable, Self::Avx2, Self::Avx512];
        #[cfg(not(target_arch = "x86_64"))]
        let all = [Self::Portable];
        let widest = all.iter().position(|&isa| isa == Self::detected()).expect("one of them");
        all[..=widest].to_vec()
    }
}

/// Has the processor fetch what lies at a place of a list, without waiting for it. Where there is no such place it does
/// nothing.
#[inline]
#[allow(dead_code, reason = "not for every benchmark that has this file")]
#[allow(unsafe_code, reason = "an instruction that has no effect but on time")]
pub(crate) fn prefetch<T>(list: &[T], place: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(there) = list.get(place) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 has the instruction, which reads nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(there).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (list, place);
}

/// Defines a function of a set of instructions and arguments, whose body is compiled for each set.
macro_rules! for_each_isa {
    ($(#[$attribute:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? $body:block) => {
        $(#[$attribute])*
        #[allow(unsafe_code, reason = "instructions are used after they were found, and only then")]
        pub(crate) fn $name(isa: $crate::isa::Isa, $($argument: $type),*) $(-> $result)? {
            #[inline(always)]
            fn portable($($argument: $type),*) $(-> $result)? $body
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
            fn avx2($($argument: $type),*) $(-> $result)? {
                portable($($argument),*)
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512vpopcntdq")]
            fn avx512($($argument: $type),*) $(-> $result)? {
                portable($($argument),*)
            }
            match isa {
                $crate::isa::Isa::Portable => portable($($argument),*),
                // SAFETY: `Isa::detected` has found these instructions.
                #[cfg(target_arch = "x86_64")]
                $crate::isa::Isa::Avx2 => unsafe { avx2($($argument),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                $crate::isa::Isa::Avx512 => unsafe { avx512($($argument),*) },
            }
        }
    };
}
pub(crate) use for_each_isa;
