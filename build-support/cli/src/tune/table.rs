//! What came of a search, kernel by kernel.

use std::path::Path;

use tenfold_core::tune::Gain;

/// A kernel.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) name: String,
    /// How often the function calls it.
    pub(super) calls: u64,
    /// What part of the time of all kernels it takes.
    pub(super) share: f64,
    /// Nanoseconds of a call with the default schedule.
    pub(super) usual: Option<f64>,
    /// Schedules that were tried, and those of them that do not count.
    pub(super) tried: usize,
    pub(super) refused: usize,
    /// How many times as fast the fastest was, measured for a short time.
    pub(super) best: Option<f64>,
    /// What the schedule gains that has a record now.
    pub(super) gain: Option<Gain>,
}

/// The table, and what all kernels gain together.
pub(super) fn table(rows: &[Row], records: &Path) -> String {
    let head = ["kernel", "calls", "share", "default", "tuned", "gain", "tried"].map(String::from);
    let cells: Vec<[String; 7]> = [head].into_iter().chain(rows.iter().map(cells)).collect();
    let widths: Vec<usize> =
        (0..7).map(|n| cells.iter().map(|line| line[n].chars().count()).max().unwrap_or(0)).collect();
    let mut out = String::new();
    for line in &cells {
        let padded = line.iter().zip(&widths).enumerate().map(|(n, (cell, width))| match n {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        out += padded.collect::<Vec<_>>().join("  ").trim_end();
        out.push('\n');
    }
    out + &summary(rows, records)
}

fn cells(row: &Row) -> [String; 7] {
    let time = |ns: f64| if ns < 1e4 { format!("{ns:.0} ns") } else { format!("{:.1} us", ns * 1e-3) };
    let tuned = row.gain.map_or("-".into(), |gain| time(gain.tuned));
    let gain = match (row.gain, row.best) {
        (Some(gain), _) => format!("{:.3}", gain.ratio()),
        (None, Some(_)) if row.tried > 1 => "none".into(),
        (None, _) => "-".into(),
    };
    let tried = match row.refused {
        0 => row.tried.to_string(),
        n => format!("{}, {n} refused", row.tried),
    };
    let usual = row.gain.map(|gain| gain.default).or(row.usual);
    [
        row.name.clone(),
        row.calls.to_string(),
        format!("{:.1} %", 100.0 * row.share),
        usual.map_or("-".into(), time),
        tuned,
        gain,
        tried,
    ]
}

/// What all kernels gain, if each call of them takes what it took by itself.
fn summary(rows: &[Row], records: &Path) -> String {
    let before: f64 = rows.iter().map(|row| row.share).sum();
    let after: f64 = rows.iter().map(|row| row.share / row.gain.map_or(1.0, |gain| gain.ratio())).sum();
    let count = rows.iter().filter(|row| row.gain.is_some()).count();
    let path = records.display();
    match count {
        0 => "no schedule is faster than the default ones by more than measurements differ\n".into(),
        1 => format!("all kernels together: {:.3} times as fast; `{path}` has the record\n", before / after),
        n => format!("all kernels together: {:.3} times as fast; `{path}` has {n} records\n", before / after),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, share: f64, gain: Option<Gain>) -> Row {
        let usual = Some(20_000.0 * share);
        Row { name: name.into(), calls: 1, share, usual, tried: 64, refused: 0, best: Some(1.01), gain }
    }

    #[test]
    fn gains_stand_beside_kernels_and_below_them() {
        let gain = Gain { default: 16_000.0, tuned: 12_800.0, trials: 64 };
        let mut small = row("copy", 0.2, None);
        (small.tried, small.refused) = (8, 2);
        let text = table(&[row("matmul", 0.8, Some(gain)), small], Path::new("r.txt"));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "matmul      1  80.0 %  16.0 us  12.8 us  1.250            64");
        assert_eq!(lines[2], "copy        1  20.0 %  4000 ns        -   none  8, 2 refused");
        assert_eq!(lines[3], "all kernels together: 1.190 times as fast; `r.txt` has the record");
        assert!(table(&[row("copy", 1.0, None)], Path::new("r.txt")).ends_with("measurements differ\n"));
    }
}
