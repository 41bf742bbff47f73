//! Loops over elements against the same loops in Rust.

use tenfold_programs::loops;

#[test]
fn scalars_are_carried() {
    let y = loops::carried(&[1.0, -2.0, 0.5, 4.0, -1.0]).expect("the dims agree");
    assert_eq!(y, (5.5, 3, 3, true));
    assert_eq!(loops::carried(&[0.0f32; 0]).expect("the dims agree"), (0.0, 0, -1, false));
}

#[test]
fn a_condition_guards_an_index() {
    assert_eq!(loops::first_negative(&[3, 1, -4, -1]).expect("the dims agree"), 2);
    assert_eq!(loops::first_negative(&[3, 1]).expect("the dims agree"), 2);
    assert_eq!(loops::first_negative(&[0; 0]).expect("the dims agree"), 0);
}

#[test]
fn a_tensor_is_read_where_it_was_written() {
    let x = [5, -3, 9, 9, 0, 2, -7, 1];
    let mut y = x;
    y.sort_unstable();
    assert_eq!(loops::sorted(&x).expect("the dims agree").as_slice(), y);
}

#[test]
fn an_old_value_stays() {
    let (y, before) = loops::shifted(&[1, 2, 3]).expect("the dims agree");
    assert_eq!((y.as_slice(), before.as_slice()), (&[2, 4, 6][..], &[2, 3, 4][..]));
}

#[test]
fn a_value_read_before_a_store_is_the_old_one() {
    let (mut s, mut t) = ([1, 2, 3, 4], [1, 2, 3, 4]);
    let x = [1, 10, 100, 1000, 10000];
    let y = loops::rotated(&x, &mut s).expect("the dims agree");
    let expected: Vec<i32> = x
        .iter()
        .map(|x| {
            let (old, sum) = (t[0], t[0] + t[3]);
            t = [t[1], t[2], t[3], sum];
            x * old
        })
        .collect();
    assert_eq!((y.as_slice(), s), (&expected[..], t));
}

#[test]
fn steps_go_both_ways() {
    let y = loops::steps(&[0; 3]).expect("the dims agree");
    assert_eq!(y.as_slice(), [19, 16, 13, 10, 7, 4, 1, 7]);
}

#[test]
fn inner_bounds_depend_on_outer_loops() {
    let a: [[i64; 5]; 5] = std::array::from_fn(|i| std::array::from_fn(|j| (3 * i + 7 * j) as i64 - 9));
    let mut y = [[0i64; 5]; 5];
    for (i, j) in (0..5).flat_map(|i| (0..=i).map(move |j| (i, j))) {
        y[i][j] = (j..=i).map(|k| a[i][k] * k as i64).sum::<i64>() + y[j][j];
    }
    assert_eq!(loops::triangle(&a).expect("the dims agree").as_slice(), y.as_flattened());
}

#[test]
fn a_triangular_system_is_solved() {
    let l = [[2.0, 0.0, 0.0], [1.0, 4.0, 0.0], [-3.0, 0.5, 0.25]];
    // Every number here is a short binary fraction, so nothing is rounded.
    let y = loops::lower_solve(&l, &[2.0, 9.0, 0.0]).expect("the dims agree");
    assert_eq!(y.as_slice(), [1.0, 2.0, 8.0]);
}

#[test]
fn a_function_of_scalars_loops() {
    let turns = |mut n: u32| {
        let mut turns = 0;
        while n > 1 {
            n = if n.is_multiple_of(2) { n / 2 } else { 3 * n + 1 };
            turns += 1;
        }
        turns
    };
    assert_eq!(loops::collatz(27), turns(27));
    assert_eq!(loops::all_collatz(&[1, 6, 27, 97]).expect("the dims agree").as_slice(), [1, 6, 27, 97].map(turns));
}

#[test]
fn total_forms_read_what_is_there_now() {
    let x = [3, -5, 7, 0];
    let mut y = x;
    for i in 0..4 {
        let near = if i > 0 { y[i - 1] } else { 100 };
        y[i] = near - y[i];
        if i > 0 && y[i - 1] > 0 {
            y[i] += 1000;
        }
    }
    assert_eq!(loops::total(&x).expect("the dims agree").as_slice(), y);
}

#[test]
fn closures_and_branches_stand_in_loops() {
    assert_eq!(loops::clamp_sum(&[9, -9, 3], -2, 5).expect("the dims agree"), 5 + 2 + 3);
}

#[test]
fn copies_of_a_loop_stand_in_loops() {
    let y = loops::polynomial(&[0.0, 1.0, 2.0], &[1.0, -2.0, 0.5, 4.0]).expect("the dims agree");
    assert_eq!(y.as_slice(), [1.0, 3.5, 31.0]);
}

#[test]
fn state_of_rank_zero_is_updated_in_a_loop() {
    let mut best = 4;
    loops::counter(&[1, 7, 3], &mut best).expect("the dims agree");
    assert_eq!(best, 7);
}
