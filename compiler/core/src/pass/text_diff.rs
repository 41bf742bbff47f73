//! A unified diff of two texts.

use std::fmt::Write as _;

/// Lines around a change that are shown.
const AROUND: usize = 3;

/// Texts whose middle parts differ by more lines than this are shown as removed and added as a whole: the walk below
/// takes time and memory with the square of what differs.
const MOST: usize = 4000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Edit {
    Keep,
    Remove,
    Add,
}

/// The unified diff from `old` to `new` under their titles; nothing if they are equal.
pub fn unified(old: &str, new: &str, old_title: &str, new_title: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let edits = edits(&old, &new);
    if edits.iter().all(|e| *e == Edit::Keep) {
        return String::new();
    }
    let mut out = format!("--- {old_title}\n+++ {new_title}\n");
    for (from, to) in hunks(&edits) {
        hunk(&mut out, &edits, from, to, &old, &new);
    }
    out
}

/// Ranges of edits that are shown together.
fn hunks(edits: &[Edit]) -> Vec<(usize, usize)> {
    let mut hunks: Vec<(usize, usize)> = Vec::new();
    for (at, edit) in edits.iter().enumerate() {
        if *edit == Edit::Keep {
            continue;
        }
        let (from, to) = (at.saturating_sub(AROUND), (at + 1 + AROUND).min(edits.len()));
        match hunks.last_mut() {
            Some(last) if last.1 >= from => last.1 = to,
            _ => hunks.push((from, to)),
        }
    }
    hunks
}

fn hunk(out: &mut String, edits: &[Edit], from: usize, to: usize, old: &[&str], new: &[&str]) {
    let lines = |part: &[Edit], not: Edit| part.iter().filter(|e| **e != not).count();
    let (mut o, mut n) = (lines(&edits[..from], Edit::Add), lines(&edits[..from], Edit::Remove));
    let (olds, news) = (lines(&edits[from..to], Edit::Add), lines(&edits[from..to], Edit::Remove));
    let first = |at: usize, count: usize| if count == 0 { at } else { at + 1 };
    let _ = writeln!(out, "@@ -{},{olds} +{},{news} @@", first(o, olds), first(n, news));
    for edit in &edits[from..to] {
        let (mark, line) = match edit {
            Edit::Keep => (' ', old[o]),
            Edit::Remove => ('-', old[o]),
            Edit::Add => ('+', new[n]),
        };
        o += usize::from(*edit != Edit::Add);
        n += usize::from(*edit != Edit::Remove);
        let _ = writeln!(out, "{mark}{line}");
    }
}

/// The shortest way from `old` to `new` (Myers), after their common head and tail are cut off.
fn edits(old: &[&str], new: &[&str]) -> Vec<Edit> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[head..], &new[head..]);
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let middle = walk(&old[..old.len() - tail], &new[..new.len() - tail]);
    let mut edits = vec![Edit::Keep; head];
    edits.extend(middle);
    edits.extend(vec![Edit::Keep; tail]);
    edits
}

fn replaced(old: usize, new: usize) -> Vec<Edit> {
    [vec![Edit::Remove; old], vec![Edit::Add; new]].concat()
}

/// Per number of edits the furthest line of `old` on each diagonal; then back.
fn walk(old: &[&str], new: &[&str]) -> Vec<Edit> {
    let (rows, columns) = (old.len() as isize, new.len() as isize);
    let most = (rows + columns).min(MOST as isize);
    let width = (2 * most + 3) as usize;
    let at = |k: isize| (k + most + 1) as usize;
    let mut furthest = vec![0_isize; width];
    let mut trail: Vec<Vec<isize>> = Vec::new();
    for d in 0..=most {
        trail.push(furthest[at(-d - 1)..=at(d + 1)].to_vec());
        for k in (-d..=d).step_by(2) {
            let down = k == -d || (k != d && furthest[at(k - 1)] < furthest[at(k + 1)]);
            let mut x = if down { furthest[at(k + 1)] } else { furthest[at(k - 1)] + 1 };
            while x < rows && x - k < columns && old[x as usize] == new[(x - k) as usize] {
                x += 1;
            }
            furthest[at(k)] = x;
            if x >= rows && x - k >= columns {
                return back(&trail, rows, columns);
            }
        }
    }
    replaced(old.len(), new.len())
}

fn back(trail: &[Vec<isize>], mut x: isize, mut y: isize) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (d, furthest) in trail.iter().enumerate().rev() {
        let d = d as isize;
        let get = |k: isize| furthest[(k + d + 1) as usize];
        let k = x - y;
        let down = k == -d || (k != d && get(k - 1) < get(k + 1));
        let before = if down { k + 1 } else { k - 1 };
        let from = if d == 0 { (0, 0) } else { (get(before), get(before) - before) };
        while x > from.0 && y > from.1 {
            edits.push(Edit::Keep);
            (x, y) = (x - 1, y - 1);
        }
        if d > 0 {
            edits.push(if down { Edit::Add } else { Edit::Remove });
            (x, y) = from;
        }
    }
    edits.reverse();
    edits
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a diff says of the new text.
    fn applied(old: &[&str], new: &[&str]) -> bool {
        let (mut o, mut n) = (0, 0);
        for edit in edits(old, new) {
            match edit {
                Edit::Keep if old.get(o) != new.get(n) => return false,
                Edit::Keep => (o, n) = (o + 1, n + 1),
                Edit::Remove => o += 1,
                Edit::Add => n += 1,
            }
        }
        (o, n) == (old.len(), new.len())
    }

    #[test]
    fn every_pair_of_short_texts() {
        let texts: Vec<Vec<&str>> = (0..3_usize.pow(5))
            .map(|n| (0..n % 6).map(|i| ["a", "b", "c"][n / 3_usize.pow(i as u32) % 3]).collect())
            .collect();
        for old in &texts {
            for new in texts.iter().step_by(7) {
                assert!(applied(old, new), "{old:?} {new:?}");
            }
        }
    }

    #[test]
    fn a_hunk_shows_three_lines_around() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let new = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n";
        let text = "--- a\n+++ b\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n";
        assert_eq!(unified(old, new, "a", "b"), text);
        assert_eq!(unified(old, old, "a", "b"), "");
    }

    #[test]
    fn what_is_only_added() {
        assert_eq!(unified("", "x\n", "a", "b"), "--- a\n+++ b\n@@ -0,0 +1,1 @@\n+x\n");
    }
}
