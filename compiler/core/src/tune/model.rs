//! Which schedules are worth measuring: what a rule's model counts, corrected by what was measured.
//!
//! The logarithm of a schedule's time, beside the default's, is taken to be half of what the model says, plus a
//! weighted sum over decisions: numbers by their logarithms and the squares of these, words one by one. Weights are
//! those of ridge regression over what was measured; before that, they are 0.

use std::collections::BTreeSet;

use super::Candidate;

/// How much of what the model says is believed before anything is measured.
const BELIEVED: f64 = 0.5;

/// What holds weights near 0.
const RIDGE: f64 = 0.02;

/// A model of one kernel's time.
#[derive(Debug)]
pub(super) struct Model {
    default: Option<i128>,
    /// Names that are numbers wherever they are decided, and names with words.
    numbers: Vec<String>,
    words: Vec<(String, String)>,
    weights: Vec<f64>,
}

impl Model {
    /// Of measured schedules, each with the logarithm of its time beside the default's, whose cycles are given.
    pub(super) fn of(default: Option<i128>, measured: &[(&Candidate, f64)]) -> Model {
        let mut numbers: BTreeSet<String> = BTreeSet::new();
        let mut words: BTreeSet<(String, String)> = BTreeSet::new();
        for (name, value) in measured.iter().flat_map(|(candidate, _)| candidate.decisions.iter()) {
            match value.parse::<u32>() {
                Ok(_) => drop(numbers.insert(name.into())),
                Err(_) => drop(words.insert((name.into(), value.into()))),
            }
        }
        let (numbers, words) = (numbers.into_iter().collect(), words.into_iter().collect());
        let mut model = Model { default, numbers, words, weights: Vec::new() };
        let rows: Vec<Vec<f64>> = measured.iter().map(|(candidate, _)| model.features(candidate)).collect();
        let rest: Vec<f64> = measured.iter().map(|(candidate, time)| time - model.counted(candidate)).collect();
        model.weights = ridge(&rows, &rest);
        model
    }

    /// The logarithm of a schedule's time beside the default's.
    pub(super) fn time(&self, candidate: &Candidate) -> f64 {
        let learnt = self.features(candidate).iter().zip(&self.weights).map(|(x, w)| x * w).sum::<f64>();
        self.counted(candidate) + learnt
    }

    /// What the rule's model says.
    fn counted(&self, candidate: &Candidate) -> f64 {
        let positive = |cycles: Option<i128>| cycles.filter(|n| *n > 0).map(|n| n as f64);
        let ratio = positive(candidate.cycles).zip(positive(self.default)).map(|(own, default)| own / default);
        BELIEVED * ratio.map_or(0.0, f64::ln)
    }

    fn features(&self, candidate: &Candidate) -> Vec<f64> {
        let decided = |name: &str| candidate.decisions.get(name);
        let log =
            |name: &String| decided(name).and_then(|v| v.parse::<u32>().ok()).map_or(0.0, |n| f64::from(n + 1).log2());
        let numbers = self.numbers.iter().flat_map(|name| [log(name), log(name) * log(name) / 4.0]);
        let words = self.words.iter().map(|(name, word)| f64::from(u8::from(decided(name) == Some(word))));
        [1.0].into_iter().chain(numbers).chain(words).collect()
    }
}

/// The weights that make the least of squared errors and their own squares: (X'X + r) w = X'y.
fn ridge(rows: &[Vec<f64>], y: &[f64]) -> Vec<f64> {
    let count = rows.first().map_or(0, Vec::len);
    let mut matrix = vec![vec![0.0; count + 1]; count];
    for (row, y) in rows.iter().zip(y) {
        for i in 0..count {
            for j in 0..count {
                matrix[i][j] += row[i] * row[j];
            }
            matrix[i][count] += row[i] * y;
        }
    }
    for (i, row) in matrix.iter_mut().enumerate() {
        row[i] += RIDGE;
    }
    solved(matrix)
}

/// Gauss's elimination of a symmetric positive matrix, whose last column is what it gives.
fn solved(mut matrix: Vec<Vec<f64>>) -> Vec<f64> {
    let count = matrix.len();
    for i in 0..count {
        let (above, below) = matrix.split_at_mut(i + 1);
        let pivot = &above[i];
        for row in below {
            let factor = row[i] / pivot[i];
            row.iter_mut().zip(pivot).skip(i).for_each(|(x, p)| *x -= factor * p);
        }
    }
    let mut out = vec![0.0; count];
    for i in (0..count).rev() {
        let rest: f64 = (i + 1..count).map(|j| matrix[i][j] * out[j]).sum();
        out[i] = (matrix[i][count] - rest) / matrix[i][i];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::Decisions;
    use super::*;

    fn candidate(text: &str, cycles: Option<i128>) -> Candidate {
        let decisions = Decisions::parse(text).expect("decisions");
        Candidate {
            decisions,
            offers: Vec::new(),
            cycles,
            code: 0,
            target: String::new(),
            kernel: String::new(),
            panels: None,
        }
    }

    #[test]
    fn equations_are_solved() {
        let out = solved(vec![vec![2.0, 1.0, 4.0], vec![1.0, 3.0, 7.0]]);
        assert!((out[0] - 1.0).abs() < 1e-12 && (out[1] - 2.0).abs() < 1e-12, "{out:?}");
    }

    #[test]
    fn before_a_measurement_the_rules_model_ranks() {
        let model = Model::of(Some(100), &[]);
        let time = |cycles| model.time(&candidate("rows=1", cycles));
        assert!(time(Some(50)) < time(Some(100)) && time(Some(100)) < time(Some(200)));
        assert_eq!((time(Some(100)), time(None)), (0.0, 0.0));
    }

    #[test]
    fn what_was_measured_corrects_it() {
        // The rule counts the same for all; four rows are the fastest, and copying is slow.
        let all: Vec<(Candidate, f64)> = [1, 2, 3, 4, 5, 6, 8]
            .into_iter()
            .flat_map(|rows: i32| ["no", "yes"].map(|copy| (rows, copy)))
            .map(|(rows, copy)| {
                let time = 0.1 * f64::from((rows - 4).abs()) + if copy == "yes" { 0.5 } else { 0.0 };
                (candidate(&format!("rows={rows} copy={copy}"), Some(100)), time)
            })
            .collect();
        let pairs: Vec<(&Candidate, f64)> = all.iter().map(|(candidate, time)| (candidate, *time)).collect();
        let model = Model::of(Some(100), &pairs);
        let time = |text: &str| model.time(&candidate(text, Some(100)));
        assert!(time("rows=4 copy=no") < time("rows=1 copy=no"));
        assert!(time("rows=4 copy=no") < time("rows=8 copy=no"));
        assert!(time("rows=7 copy=no") < time("rows=7 copy=yes"));
    }
}
