//! Branches and loops over whole tensors against the same in Rust.

use tenfold_programs::graphs;

fn close(found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len());
    for (x, y) in found.iter().zip(expected) {
        assert!((x - y).abs() <= 1e-5 * (1.0 + y.abs()), "{found:?} is not {expected:?}");
    }
}

#[test]
fn tensors_and_a_literal_are_carried() {
    let a = [[2.0f32, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]];
    let (mut v, mut largest) = ([1.0f32, 1.0, 1.0], 0.0f32);
    for _ in 0..20 {
        let w = a.map(|row| row.iter().zip(v).map(|(a, v)| a * v).sum::<f32>());
        largest = w.iter().map(|w| w * w).sum::<f32>().sqrt();
        v = w.map(|w| w / largest);
    }
    let (found, size) = graphs::power_iteration(&a, &[1.0, 1.0, 1.0]).expect("the dims agree");
    close(found.as_slice(), &v);
    close(&[size], &[largest]);
}

#[test]
fn values_change_places() {
    let (a, b) = graphs::fibonacci(&[0, 1, -1], &[1, 1, 2], 10).expect("the dims agree");
    assert_eq!(a.as_slice(), [55, 89, 76]);
    assert_eq!(b.as_slice(), [89, 144, 123]);
    let (a, b) = graphs::fibonacci(&[7], &[9], 0).expect("the dims agree");
    assert_eq!((a.as_slice(), b.as_slice()), (&[7][..], &[9][..]));
}

#[test]
fn a_condition_uses_whole_tensors() {
    let (y, turns) = graphs::halve(&[8.0, 3.0, -20.0]).expect("the dims agree");
    assert_eq!((y.as_slice(), turns), (&[1.0, 0.375, -2.5][..], 3));
    let (y, turns) = graphs::halve(&[0.5f32]).expect("the dims agree");
    assert_eq!((y.as_slice(), turns), (&[0.5][..], 0));
}

#[test]
fn a_loop_writes_what_it_reads() {
    let y = graphs::running(&[[4.0, 0.0], [1.0, 8.0], [3.0, 1.0]]).expect("the dims agree");
    assert_eq!(y.as_slice(), [4.0, 0.0, 2.0, 8.0, 3.0, 4.0]);
}

#[test]
fn state_lives_through_loops() {
    let mut grid = [[1.0f32, 2.0], [3.0, 4.0]];
    graphs::diffuse(&mut grid, &[[0.0, 1.0], [2.0, 0.0]], 2).expect("the dims agree");
    // Twice the kernel is 2 times the identity; then comes the half.
    assert_eq!(grid, [[1.0, 2.0], [3.0, 4.0]]);
    graphs::diffuse(&mut grid, &[[0.0, 1.0], [1.0, 0.0]], 1).expect("the dims agree");
    assert_eq!(grid, [[0.5, 1.0], [1.5, 2.0]]);
}

#[test]
fn one_branch_runs() {
    close(graphs::normalised(&[3.0, 4.0]).expect("the dims agree").as_slice(), &[1.2, 1.6]);
    assert_eq!(graphs::normalised(&[0.3f32, 0.4]).expect("the dims agree").as_slice(), [0.3, 0.4]);
    assert_eq!(graphs::picked(&[1.0, 5.0]).expect("the dims agree"), 1.0);
    assert_eq!(graphs::picked(&[-9.0, 5.0]).expect("the dims agree"), 5.0);
}

#[test]
fn folds_and_scans_carry_tensors() {
    let y = graphs::folded(&[[8.0, 1.0], [1.0, 3.0], [0.0, 0.0]]).expect("the dims agree");
    assert_eq!(y.as_slice(), [2.0, 1.5]);
    let (x, w) = ([[0.5f32, -1.0], [0.25, 0.0], [1.0, 2.0]], [[0.5f32, -0.25], [1.0, 0.75]]);
    let (mut h, mut all) = ([0.0f32; 2], Vec::new());
    for x in x {
        let next = [0, 1].map(|i| (w[i][0] * h[0] + w[i][1] * h[1] + x[i]).tanh());
        h = next;
        all.extend(next.map(|n| n * 2.0));
    }
    let (last, outs) = graphs::recurrent(&x, &w).expect("the dims agree");
    close(last.as_slice(), &h);
    close(outs.as_slice(), &all);
}

#[test]
fn shapes_are_checked_when_the_function_runs() {
    let y = graphs::matched(&[1.0, 2.0], &[10.0, 20.0]).expect("the shapes agree");
    assert_eq!(y.as_slice(), [11.0, 22.0]);
    let error = graphs::matched(&[1.0, 2.0], &[10.0]).expect_err("the shapes differ");
    assert_eq!(error.to_string(), "`axis 0 of `y` is N` does not hold");
}

#[test]
fn data_decide_an_extent() {
    let x = [0.1f32, 0.2, 0.3, 0.4];
    for (count, n) in [(2, 2), (9, 4), (0, 0), (-3, 0)] {
        let part: Vec<f32> = x[..n].iter().map(|x| x.exp()).collect();
        let total: f32 = part.iter().sum();
        let expected: f32 = part.iter().map(|p| p / (1.0 + total)).sum();
        close(&[graphs::front(&x, count).expect("the dims agree")], &[expected]);
    }
}
