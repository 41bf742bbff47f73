//! The functions of `src/operators.rs` against the same in Rust.

use tenfold_programs::operators;

fn close(found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len());
    for (x, y) in found.iter().zip(expected) {
        assert!((x - y).abs() <= 1e-6 * (1.0 + y.abs()), "{found:?} is not {expected:?}");
    }
}

#[test]
fn a_cache_without_a_mask() {
    let (q, k) = ([[1.0f32, 0.0, -1.0, 2.0], [0.5, 0.5, 0.0, -1.0]], [0.0f32, 1.0, 1.0, 0.5]);
    let keys = [[1.0f32, -1.0, 0.0, 0.5], [0.0, 2.0, 1.0, -0.5]];
    let values = [[1.0f32, 2.0, 3.0, 4.0], [-1.0, 0.0, 1.0, 0.0]];
    let v = [0.5f32, 0.5, -0.5, 1.0];
    let one = |x: [f32; 4]| [[[x]]];
    let (y, all) =
        operators::step(&[[[q[0]], [q[1]]]], &one(k), &one(v), &[[keys]], &[[values]]).expect("the dims agree");
    assert_eq!(all.as_slice(), [keys[0], keys[1], k].concat());
    let mut expected = Vec::new();
    for q in q {
        let score = |k: &[f32; 4]| (q.iter().zip(k).map(|(a, b)| a * b).sum::<f32>() / 2.0).exp();
        let weights = [score(&keys[0]), score(&keys[1]), score(&k)];
        let total: f32 = weights.iter().sum();
        expected.extend(
            (0..4).map(|d| (weights[0] * values[0][d] + weights[1] * values[1][d] + weights[2] * v[d]) / total),
        );
    }
    close(y.as_slice(), &expected);
}

#[test]
fn a_state_goes_on() {
    let number = |i: usize, by: usize| ((i * 7 + by) % 11) as f32 / 8.0 - 0.5;
    let x: Vec<[[f32; 2]; 1]> = (0..4).map(|t| [[number(t, 1), number(t, 5)]]).collect();
    let w = [std::array::from_fn::<[f32; 2], 12, _>(|i| std::array::from_fn(|j| number(i * 2 + j, 3)))];
    let r = [std::array::from_fn::<[f32; 3], 12, _>(|i| std::array::from_fn(|j| number(i * 3 + j, 2)))];
    let (mut h, mut c) = ([0.25f32, -0.5, 1.0], [0.5f32, 0.0, -1.0]);
    let (found_h, found_c) = operators::remember(&x, &w, &r, &[[h]], &[[c]]).expect("the dims agree");
    let sigmoid = |x: f32| 1.0 / (1.0 + (-x).exp());
    for [x] in &x {
        let gate = |n: usize, j: usize| {
            let row = n * 3 + j;
            (0..2).map(|k| w[0][row][k] * x[k]).sum::<f32>() + (0..3).map(|k| r[0][row][k] * h[k]).sum::<f32>()
        };
        let cell: [f32; 3] =
            std::array::from_fn(|j| sigmoid(gate(2, j)) * c[j] + sigmoid(gate(0, j)) * gate(3, j).tanh());
        (h, c) = (std::array::from_fn(|j| sigmoid(gate(1, j)) * cell[j].tanh()), cell);
    }
    close(found_h.as_slice(), &h);
    close(found_c.as_slice(), &c);
}

#[test]
fn an_image_is_resized_and_averaged() {
    let image = [[[[1.0f32, 2.0], [3.0, 8.0]]]];
    let y = operators::quarters(&image).expect("there is an element");
    // each quarter of the larger image leans on its corner: weights 1, 3/4, 3/4 and 9/16 of it
    let lean = |a: f32, b: f32, c: f32, d: f32| {
        let line = |near: f32, far: f32| (near + (0.75 * near + 0.25 * far)) / 2.0;
        line(line(a, b), line(c, d))
    };
    close(
        y.as_slice(),
        &[lean(1.0, 2.0, 3.0, 8.0), lean(2.0, 1.0, 8.0, 3.0), lean(3.0, 8.0, 1.0, 2.0), lean(8.0, 3.0, 2.0, 1.0)],
    );
    assert!(operators::quarters(&[[[[0.0f32; 0]; 1]; 1]; 1]).is_err(), "`W` is 0");
}

#[test]
fn lengths_are_those_of_what_is_found() {
    for x in [[0.0f32, 2.0, 0.0, -1.0, 0.5], [0.0; 5], [1.0, 2.0, 3.0, 4.0, 5.0]] {
        let mut wanted: Vec<f32> = x.iter().copied().filter(|x| *x != 0.0).collect();
        let (kept, count, total) = operators::chosen(&x).expect("every extent is fine");
        assert_eq!(count, wanted.len() as i64);
        assert_eq!(total, wanted.iter().sum::<f32>());
        wanted.resize(5, 0.0);
        assert_eq!(kept.as_slice(), wanted);
    }
    let (rows, counts, count) = operators::tally(&[[7u8, 1], [0, 2], [7, 1], [0, 3]]).expect("every extent is fine");
    assert_eq!((rows.as_slice(), counts.as_slice(), count), (&[7, 1, 0, 2, 0, 3, 0, 0][..], &[2, 1, 1, 0][..], 3));
}
