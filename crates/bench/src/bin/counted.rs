// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs one thing a fixed number of times over fixed inputs, for `scripts/callgrind` to count its
//! instructions. Only what [`counted`] runs is counted, not the setting up.

use ancile_bench::inputs::decide::Case;
use ancile_bench::inputs::pack::candidates;
use ancile_bench::inputs::screen::{ascii, not_ascii};
use ancile_core::Channel;
use ancile_core::pack::{OccupancyBound, pack};
use ancile_screen::{ScreenInput, Screener, StageSet};
use anyhow::{Context as _, bail};
use std::hint::black_box;

/// How often each thing runs.
const TIMES: usize = 100;

/// What can be counted.
const NAMES: [&str; 6] = [
    "pack",
    "screen_ascii",
    "screen_not_ascii",
    "decide_cold",
    "decide_warm",
    "decide_1000_cold",
];

/// The tool starts and stops counting at this function's name.
#[inline(never)]
fn counted(run: &mut dyn FnMut()) {
    run();
}

fn times(mut run: impl FnMut()) {
    for _ in 0..TIMES {
        counted(&mut run);
    }
}

fn run_screen(text: &str) -> anyhow::Result<()> {
    let screener = Screener::new()?;
    times(|| {
        black_box(screener.screen(&ScreenInput {
            text: black_box(text),
            channel: Channel::Web,
            stages: StageSet::ALL,
        }));
    });
    Ok(())
}

fn run_cold(case: &Case) {
    times(|| {
        black_box(black_box(case).decide(&mut case.cold()));
    });
}

fn run_warm(case: &Case) -> anyhow::Result<()> {
    let mut memos = vec![case.warm()?; TIMES];
    times(|| {
        if let Some(mut memo) = memos.pop() {
            black_box(black_box(case).decide(&mut memo));
        }
    });
    Ok(())
}

fn run_pack() -> anyhow::Result<()> {
    let bound = OccupancyBound::default_for(15, 2_000)?;
    let (trusted, untrusted) = (candidates(160, 3, 1), candidates(40, 8, 2));
    times(|| {
        black_box(pack(black_box(&trusted), black_box(&untrusted), &bound));
    });
    Ok(())
}

fn main() -> anyhow::Result<()> {
    let name = std::env::args().nth(1);
    let name = name.with_context(|| format!("name one of {}", NAMES.join(", ")))?;
    match name.as_str() {
        "pack" => run_pack()?,
        "screen_ascii" => run_screen(&ascii())?,
        "screen_not_ascii" => run_screen(&not_ascii())?,
        "decide_cold" => run_cold(&Case::chain(3)?),
        "decide_warm" => run_warm(&Case::chain(3)?)?,
        "decide_1000_cold" => run_cold(&Case::exposures(1_000)?),
        other => bail!("`{other}` is not counted; name one of {}", NAMES.join(", ")),
    }
    Ok(())
}
