// SPDX-License-Identifier: MIT OR Apache-2.0
//! How far a fetch is, on standard error: a bar on a terminal, a line for each tenth elsewhere.

use crate::print;
use std::io::{IsTerminal as _, Write as _};

/// Characters of the bar.
const WIDTH: u64 = 30;
const MB: u64 = 1_000_000;

/// What was taken so far, of all there is to take.
pub struct Progress {
    total: u64,
    done: u64,
    /// The last hundredth or tenth that was told.
    told: Option<u64>,
    terminal: bool,
    silent: bool,
}

impl Progress {
    /// Nothing of so many bytes.
    pub fn of(total: u64) -> Self {
        Self {
            total,
            done: 0,
            told: None,
            terminal: std::io::stderr().is_terminal(),
            silent: false,
        }
    }

    /// One that tells nobody.
    #[cfg(test)]
    pub fn silent() -> Self {
        Self {
            silent: true,
            ..Self::of(0)
        }
    }

    /// So many bytes more.
    pub fn add(&mut self, bytes: u64) {
        self.done = self.done.saturating_add(bytes);
        let step = if self.terminal { 1 } else { 10 };
        let percent = percent(self.done, self.total) / step * step;
        if self.silent || self.told == Some(percent) {
            return;
        }
        self.told = Some(percent);
        let line = line(percent, self.done, self.total);
        if self.terminal {
            // A terminal that went away is no fault of ours.
            let mut err = std::io::stderr().lock();
            _ = write!(err, "\r{line}").and_then(|()| err.flush());
        } else {
            print::err(&line);
        }
    }

    /// Leaves the line of the bar, so that what follows begins on its own.
    pub fn end(&self) {
        if self.terminal && self.told.is_some() && !self.silent {
            print::err("");
        }
    }
}

fn percent(done: u64, total: u64) -> u64 {
    let hundredths = done.saturating_mul(100).checked_div(total);
    hundredths.unwrap_or(100).min(100)
}

fn line(percent: u64, done: u64, total: u64) -> String {
    let full = usize::try_from(percent.saturating_mul(WIDTH) / 100).unwrap_or(0);
    let width = usize::try_from(WIDTH).unwrap_or(0);
    let bar = "#".repeat(full);
    let (done, total) = (done / MB, total.div_ceil(MB));
    format!("[{bar:.<width$}] {percent:>3} %, {done} of {total} MB")
}

#[cfg(test)]
mod tests {
    use super::{Progress, line, percent};

    #[test]
    fn a_bar_fills_as_bytes_come() {
        assert_eq!((percent(0, 3), percent(1, 3), percent(3, 3)), (0, 33, 100));
        assert_eq!((percent(9, 3), percent(0, 0)), (100, 100));
        let half = format!("[{}{}]  50 %, 45 of 91 MB", "#".repeat(15), ".".repeat(15));
        assert_eq!(line(50, 45_400_000, 90_868_376), half);
        assert!(line(100, 1, 1).starts_with(&format!("[{}] 100 %", "#".repeat(30))));
        let mut silent = Progress::silent();
        silent.add(7);
        assert_eq!((silent.done, silent.told), (7, None));
    }
}
