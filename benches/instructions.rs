//! The inner loops, to be counted in instructions instead of time: `scripts/instructions` runs this under callgrind, which
//! gives the same numbers on a busy machine. By itself it lists the loops.
//!
//! Its arguments are the loop, the set of instructions, and how often 32,768 uniform values go through the loop.

mod values;

use std::hint::black_box;

#[path = "../src/isa.rs"]
mod isa;
#[path = "../src/near.rs"]
#[allow(dead_code, unused_imports, reason = "a part is counted, and the tests in it are not run here")]
mod near;
#[path = "../src/overlap.rs"]
#[allow(unused_imports, reason = "the tests in it are not run here")]
mod overlap;
#[path = "../src/packed.rs"]
#[expect(dead_code, reason = "the bench measures a part")]
mod packed;
#[path = "../src/page/mod.rs"]
#[expect(dead_code, reason = "the bench measures a part")]
mod page;

use isa::Isa;
use page::{MAX_VALUES, Page};
use values::value;

const LOOPS: [&str; 3] = ["decode", "near", "common"];
const VALUES: usize = 1 << 15;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let [name, of, times] = &arguments[..] else {
        println!("loops: {}; sets: {:?}", LOOPS.join(", "), Isa::all());
        return;
    };
    let isa = Isa::all().into_iter().find(|isa| format!("{isa:?}").eq_ignore_ascii_case(of));
    let isa = isa.expect("this processor has the set of instructions");
    let times: usize = times.parse().expect("a number");
    // As near to each other as 10^8 of them are.
    let mut values: Vec<u64> = (0..VALUES as u64).map(|n| value(n) >> 12).collect();
    values.sort_unstable();
    let lists: Vec<&[u64]> = values.chunks(MAX_VALUES).collect();
    let pages: Vec<Vec<u8>> = lists
        .iter()
        .map(|list| {
            let mut bytes = Vec::new();
            page::encode(list, &mut bytes);
            bytes
        })
        .collect();
    let (mut room, mut found) = (page::ROOM, Vec::new());
    for turn in 0..times * lists.len() {
        let (list, bytes) = (lists[turn % lists.len()], &pages[turn % lists.len()]);
        match name.as_str() {
            "decode" => {
                let (page, _) = Page::parse(black_box(bytes)).expect("it was encoded");
                black_box(page::values(isa, &page, [0, u64::MAX], &mut room));
            }
            "near" => {
                found.clear();
                near::near(isa, black_box(list), black_box(77), 3, &mut found);
                black_box(&found);
            }
            // Eight of them, in each page.
            "common" => {
                black_box(overlap::common(isa, black_box(list), black_box(&list[70..78])));
            }
            _ => panic!("the loops are {LOOPS:?}"),
        }
    }
}
