//! What the proofs of real kernels need: indices, extents, reshapes and parameters.

use super::super::{IntExpr, Prover, Sym};
use super::{e, given, proven, unproven};

#[test]
fn spectrogram_frames() {
    let facts = ["N >= 512", "f >= 0", "f < (N - 352) / 160", "n >= 0", "n < 512"];
    proven(&facts, "160*f + n < N");
    proven(&facts, "160*f + n >= 0");
    unproven(&facts, "160*f + n + 1 < N");
    proven(&["N >= 512"], "(N - 352) / 160 >= 0");
    proven(&["N >= 512"], "(N - 352) / 160 >= 1");
    unproven(&["N >= 0"], "(N - 352) / 160 >= 1");
}

#[test]
fn grouped_heads() {
    let fixed = ["h >= 0", "h < 8"];
    proven(&fixed, "h / (8 / 4) < 4");
    proven(&["H == 8", "G == 4", "h >= 0", "h < H"], "h / (H / G) < G");
    proven(&["H >= 1", "G >= 1", "H % G == 0", "h >= 0", "h < H"], "h / (H / G) >= 0");
    proven(&["H >= 1", "G >= 1", "H >= G", "H % G == 0", "h >= 0", "h < H"], "h / (H / G) < G");
    unproven(&["H >= 1", "G >= 1", "H >= G", "h >= 0", "h < H"], "h / (H / G) < G");
    let cache = ["pos >= 0", "pos < S", "t >= 0", "t < pos + 1"];
    proven(&cache, "t < S");
    proven(&cache, "pos + 1 >= 0");
    proven(&cache, "pos + 1 <= S");
    unproven(&cache, "t + 1 < S");
}

#[test]
fn filters() {
    let facts = ["N >= 0", "T >= 0", "T - 1 >= 0", "n >= 0", "n < N", "k >= 0", "k < T"];
    proven(&facts, "n + (T - 1) - k >= 0");
    proven(&facts, "n + (T - 1) - k < (T - 1) + N");
    unproven(&facts, "n + T - k < (T - 1) + N");
    proven(&facts, "(T - 1) + N - N == T - 1");
    proven(&["N >= 0", "T >= 1"], "N <= (T - 1) + N");
    let blur = ["H >= 2", "i >= 0", "i < H - 2", "u >= 0", "u < 3"];
    proven(&blur, "i + u < H");
    proven(&blur, "i + u >= 0");
    proven(&blur, "H - 2 >= 0");
    unproven(&blur, "i + u + 1 < H");
    unproven(&blur, "i + u - 1 >= 0");
}

#[test]
fn stages_of_a_transform() {
    for s in 0..9 {
        let (m, s) = (IntExpr::constant(256 >> s), IntExpr::constant(1).shl(&s.into()).expect("small"));
        assert!(Prover::new().prove_eq(&(IntExpr::constant(2) * m * s * 2), &e("1024")));
    }
    proven(&["M >= 0", "S >= 0"], "2*M*S*2 == M*2*S*2");
}

/// `get_reflected` and `get_clamped`, whose index may be anything.
#[test]
fn clamped_and_reflected() {
    let period = "max(1, 2*M - 2)";
    let rest = format!("k % {period}");
    let index = format!("max(0, min(M - 1, min({period} - {rest}, {rest})))");
    proven(&["M >= 1"], &format!("{index} < M"));
    proven(&["M >= 1"], &format!("{index} >= 0"));
    unproven(&["M >= 0"], &format!("{index} < M"));
    proven(&["M >= 1"], "max(0, min(M - 1, k)) < M");
    proven(&["M >= 1", "N >= 1"], "min(max(0, j), max(k, M - 1)) >= 0");
    unproven(&["M >= 1"], "min(max(0, j), k) >= 0");
    let next = format!("max(0, min(M - 1, min({period} - (i + 1) % {period}, (i + 1) % {period})))");
    proven(&["M >= 2", "i >= 0", "i < M"], &format!("{next} < M"));
    let back = format!("max(0, min(M - 1, min({period} - (N - i - 1) % {period}, (N - i - 1) % {period})))");
    proven(&["N >= 1", "M >= 2", "i >= 0", "i < N", "j >= 1", "j < M"], &format!("{back} < M"));
    let loops = ["N >= 0", "M >= 0", "at >= 0", "at <= 4", "i >= 0", "i < N", "j >= 1", "j < M"];
    proven(&loops, &format!("{back} < M"));
    proven(&["N >= 2", "i >= 0", "i < 3*N*N"], "floormod(i - 1, 3*N*N) < 3*N*N");
}

#[test]
fn data_in_a_known_range() {
    let label = ["K >= 1", "label >= 0", "label < K"];
    proven(&label, "label < K");
    proven(&["K >= 1"], "K - 1 >= 0");
    proven(&["image >= 0", "image <= 255"], "image < 256");
    unproven(&["image >= 0", "image <= 255"], "image < 255");
    proven(&["H >= 1"], "max(0, min(i, H - 1)) < H");
    proven(&["H >= 1"], "max(0, min(i, H - 1)) >= 0");
    proven(&["H >= 1"], "min(max(i, 0), H - 1) >= 0");
    unproven(&["H >= 0"], "min(max(i, 0), H - 1) >= 0");
    proven(&["W >= 1"], "floormod(j - 1, W) < W");
    proven(&["W >= 1"], "floormod(j - 1, W) >= 0");
    unproven(&["W >= 0"], "floormod(j - 1, W) < W");
    proven(&["V >= 1", "flat >= 0", "flat < 4*V"], "flat / V < 4");
    proven(&["V >= 1", "flat >= 0", "flat < 4*V"], "flat / V >= 0");
    proven(&["V >= 1", "flat >= 0", "flat < B*V", "B >= 1"], "flat / V < B");
    proven(&["V >= 1", "flat >= 0"], "flat % V < V");
}

#[test]
fn flat_offsets() {
    let facts = [
        "B >= 0", "H >= 0", "W >= 0", "C >= 0", "b >= 0", "b < B", "i >= 0", "i < H", "j >= 0", "j < W", "c >= 0",
        "c < C",
    ];
    proven(&facts, "i*W + j < H*W");
    proven(&facts, "(b*H + i)*W + j < B*H*W");
    proven(&facts, "((b*H + i)*W + j)*C + c < B*H*W*C");
    proven(&facts, "((b*H + i)*W + j)*C + c >= 0");
    unproven(&facts, "i*W + j + 1 < H*W");
    unproven(&facts, "i*H + j < H*W");
    let p = given(&facts);
    assert_eq!(p.simplify(&e("floordiv(i*W + j, W)")), e("i"));
    assert_eq!(p.simplify(&e("floormod(i*W + j, W)")), e("j"));
    assert_eq!(p.simplify(&e("floordiv(f, W)*W + floormod(f, W)")), e("f"));
    let flat = ["H >= 0", "W >= 1", "f >= 0", "f < H*W"];
    proven(&flat, "floordiv(f, W) < H");
    proven(&flat, "floormod(f, W) < W");
}

#[test]
fn conditions_and_alternatives() {
    proven(&["i >= 0", "i != 0"], "i - 1 >= 0");
    proven(&["i >= 0", "i < N", "i == 0 || N >= 5"], "i == 0 || N >= 2");
    proven(&["x < 3 || x < 5"], "x < 5");
    proven(&["a != b", "a <= b"], "a < b");
    proven(&["N % 8 == 0", "N >= 1"], "N >= 8");
    proven(&["N % 8 == 0"], "(N + 16) % 4 == 0");
    proven(&["N % 8 == 0"], "8 * floordiv(N, 8) == N");
    proven(&["N % 8 == 0", "o >= 0", "o < floordiv(N, 8)", "u >= 0", "u < 8"], "8*o + u < N");
    unproven(&["o >= 0", "o < floordiv(N + 7, 8)", "u >= 0", "u < 8"], "8*o + u < N");
    proven(&["(N + M) % 6 == 0"], "(2*N + 2*M + 3) % 3 == 0");
    proven(&["x < 0", "x > 0"], "1 == 2");
    unproven(&["x <= 0", "x >= 0"], "1 == 2");
    proven(&["2*x == 2*y + 1"], "x != y");
}

#[test]
fn scopes_forget() {
    let (i, mut p) = (Sym::new("i"), given(&["N >= 0"]));
    p.push_scope();
    p.assume_range(&i, &0.into(), &e("N"));
    assert!(p.prove_lt(&e("i"), &e("N")));
    p.pop_scope();
    assert!(!p.prove_lt(&e("i"), &e("N")));
    p.pop_scope();
    assert!(p.prove_le(&e("0"), &e("N")));
}

#[test]
fn bounds_for_messages() {
    let p = given(&["H >= 2", "i >= 0", "i < H - 1", "u >= 0", "u < 3"]);
    assert_eq!(p.bounds(&e("i + u")), (Some(e("0")), Some(e("H"))));
    assert_eq!(p.const_bounds(&e("u - 1")), (Some(-1), Some(1)));
    assert_eq!(p.const_bounds(&e("i + u")), (Some(0), None));
    let p = given(&["i >= 0", "i < N"]);
    assert_eq!(p.bounds(&e("2*i + 1")), (Some(e("1")), Some(e("2*N - 1"))));
}

#[test]
fn parity() {
    proven(&["j >= 0", "j < 2*N", "j % 2 == 0"], "j + 1 < 2*N");
    proven(&["j >= 0", "j % 2 == 1"], "j - 1 >= 0");
    proven(&["j >= 0", "j % 2 != 0"], "j - 1 >= 0");
    proven(&["j >= 0", "j < N", "N % 2 == 0", "j % 2 == 0"], "floordiv(j, 2) < floordiv(N, 2)");
    proven(&["j > 4*k", "j % 4 == 0"], "j >= 4*k + 4");
    unproven(&["j >= 0", "j < N", "j % 2 == 0"], "j + 1 < N");
    unproven(&["j >= -1", "j % 2 == 1"], "j - 1 >= 0");
    unproven(&["j >= 0", "j % 3 != 0"], "j - 2 >= 0");
}

#[test]
fn a_range_that_is_not_empty_has_factors_that_are_not_zero() {
    let mut p = given(&["K >= 0", "M >= 0"]);
    p.assume_range(&Sym::new("i"), &0.into(), &e("K*M"));
    assert!(p.prove_lt(&e("floormod(i, M)"), &e("M")));
    assert!(p.prove_lt(&e("floordiv(i, M)"), &e("K")));
    let mut p = given(&["K >= 0"]);
    p.assume_range(&Sym::new("i"), &(-1).into(), &e("K*K"));
    assert!(!p.prove_lt(&e("0"), &e("K")));
}

#[test]
fn a_fact_is_found_among_many_about_its_variable() {
    let loops =
        ["N >= 1", "M >= 1", "i_l >= 0", "i_l < N", "j_l >= 0", "j_l < M", "i >= 0", "i < N", "i == i_l", "j >= 0"];
    let inner = ["j < M", "j == j_l", "(2*j) % 3 < N - 1 - i", "i < N - 1", "2*i < 2*N"];
    let facts = [&loops[..], &inner[..]].concat();
    proven(&facts, "floormod(floormod(i + j, 3), N) < N");
    proven(&facts, "floormod(floormod(i + j, 3), N) >= 0");
}

#[test]
fn a_bound_rises_to_the_next_multiple() {
    let dims = ["N >= 0", "M >= 0", "N >= 2", "M >= 1", "M % 2 == 0"];
    let loops = ["i_l >= 0", "i_l < M", "j_l >= 0", "j_l < N", "i >= 0", "i < M", "i == i_l", "j >= 0", "j < N"];
    let facts = [&dims[..], &loops[..], &["j == j_l"]].concat();
    proven(&facts, "floormod(j - i, 3) < M*N");
    proven(&facts, "floormod(j - i, 4) < M*N");
    unproven(&facts, "floormod(j - i, 5) < M*N");
    proven(&["(n + 1) % 4 == 0", "n >= 4", "n <= 13"], "n >= 7");
    proven(&["n >= 4", "n <= 13", "(n + 1) % 4 == 0"], "n <= 11");
    proven(&["n <= 13", "(3 - n) % 4 == 0"], "n <= 11");
    unproven(&["n <= 13", "(3 - n) % 4 == 0"], "n <= 10");
    proven(&["n <= 13", "(n + 1) % 4 == 0"], "n <= 11");
    unproven(&["n <= 11", "(n + 1) % 4 == 0"], "n <= 10");
}

#[test]
fn an_equality_says_more_of_what_another_gave() {
    let outer = ["N >= 1", "o >= 0", "o < 1", "o == 0", "a >= 0", "a < N", "i >= 0", "i < N", "i == N*o + a"];
    proven(&outer, "floordiv(i, 3) < floordiv(N + 2, 3)");
    assert_eq!(given(&outer).simplify(&e("floordiv(i, 3)")), e("floordiv(a, 3)"));
}

#[test]
fn a_remainder_is_not_above_a_dividend_whose_sign_one_path_shows() {
    let dims = ["N >= 1", "M >= 1", "i >= 0", "i < M"];
    let loops = ["a >= 0", "a < 4", "b >= 0", "b < 5", "c >= 0", "c < floordiv(N + 19, 20)", "j >= 0", "j < N"];
    let at = ["j == 5*a*floordiv(N + 19, 20) + b*floordiv(N + 19, 20) + c"];
    let inside = ["5*a*floordiv(N + 19, 20) + b*floordiv(N + 19, 20) + c < N"];
    let facts = [&dims[..], &loops[..], &at[..], &inside[..]].concat();
    proven(&facts, "floormod(j, 2) < min(1, N - 1) + 1");
    proven(&facts, "floormod(j, 2) <= N - 1");
}

#[test]
fn a_loop_that_runs_has_half_of_its_end() {
    let facts = ["N >= 0", "floordiv(N + 1, 2) >= 0", "i >= 0", "i < N", "k >= 0", "k < N"];
    proven(&facts, "floormod(k, floordiv(N + 1, 2)) < floordiv(N + 1, 2)");
    proven(&facts, "floormod(k, floordiv(N + 1, 2)) >= 0");
    let scan = ["N >= 0", "at >= 0", "at <= 4", "floordiv(N + 1, 2) >= 0", "k >= 0", "k < N", "a >= -128", "a <= 127"];
    proven(&scan, "floormod(-k, floordiv(N + 1, 2)) < floordiv(N + 1, 2)");
    proven(&scan, "floormod(-k, floordiv(N + 1, 2)) >= 0");
    unproven(&["N >= 0", "k >= 0"], "floormod(k, floordiv(N + 1, 2)) < floordiv(N + 1, 2)");
    unproven(&["N >= 0", "k >= 0", "k < N"], "floormod(k, floordiv(N, 2)) < floordiv(N, 2)");
}

#[test]
fn what_cannot_be_proves_everything() {
    let dims = ["N >= 0", "M >= 0", "N >= 1", "M >= 1", "i >= 0", "i < 256"];
    let odd = [&dims[..], &["(2*i - 1) % 2 == 0"]].concat();
    proven(&odd, "floormod(2*i, 3) < N");
    proven(&odd, "x < 0");
    proven(&["2*x == 2*y + 1"], "z < 0");
    proven(&["x != x"], "z < 0");
    unproven(&["(2*i - 1) % 3 == 0"], "i < 0");
    unproven(&["2*x == 2*y + 2"], "z < 0");
}

#[test]
fn a_quotient_leads_to_its_dividend() {
    let turns = ["N >= 2", "M >= 1", "M % 2 == 0", "w >= 0", "w == r", "w < 2", "floordiv(w, 2) > 0"];
    proven(&turns, "2*w - 1 >= 0");
    proven(&turns, "-w >= 0");
    proven(&["w < 9", "floordiv(w, 4) >= 2"], "w == 8");
    unproven(&["w < 10", "floordiv(w, 4) >= 2"], "w == 8");
}

/// What is left of a convolution of stride two over the result of another, whose tiles have 28 elements.
#[test]
fn what_facts_name_is_found_where_rules_name_another() {
    let count = "floordiv(floordiv(N + 1, 2) + 1, 2)";
    let tiles = "28*floordiv(floordiv(N + 1, 2) + 1, 56)";
    let rest = format!("o < {count} - {tiles}");
    let facts = ["N >= 2", "o >= 0", &rest];
    proven(&facts, &format!("2*(o + {tiles}) < floordiv(N + 1, 2)"));
    unproven(&facts, &format!("2*(o + {tiles}) + 1 < floordiv(N + 1, 2)"));
}

#[test]
fn what_is_not_even() {
    let counter = ["c >= 0", "c <= 2305843009213693951", "c == w", "w <= 0"];
    let facts = |parity| [&["N >= 1", "N <= 8"][..], &counter, &[parity]].concat();
    proven(&facts("(N + 1) % 2 != 0"), "w + 1 < N");
    proven(&facts("(N - 1) % 2 != 0"), "w + 1 < N");
    unproven(&facts("N % 2 != 0"), "w + 1 < N");
    unproven(&facts("(N + 1) % 3 != 0"), "w + 1 < N");
    proven(&facts("N % 2 != 0"), "(N + 1) % 2 == 0");
    unproven(&facts("N % 2 != 1"), "(N + 1) % 2 == 0");
}

#[test]
fn residues_that_contradict_each_other_come_to_an_end() {
    proven(&["N >= 1", "N % 2 == 0", "N % 2 != 0"], "N >= 2");
    proven(&["N % 2 == 0", "(N + 1) % 2 == 0", "N >= 0"], "N >= 1");
    proven(&["N % 2 != 0", "(N + 1) % 2 != 0", "N >= 1"], "N >= 2");
}

#[test]
fn a_second_name_of_a_variable_takes_nothing_away() {
    let turns = ["N >= 1", "i >= 0", "i < 3*N*N + 1", "l >= 0", "l < 3*N*N + 1", "i == l"];
    proven(&turns, "3*N*N >= 1");
    proven(&turns, "floormod(i - 1, 3*N*N) < 3*N*N");
    proven(&turns, "floormod(l - 1, 3*N*N) >= 0");
    unproven(&turns, "floormod(i - 1, 3*N*N) < 3*N*N - 1");
    unproven(&[&["N >= 0"], &turns[1..]].concat(), "floormod(i - 1, 3*N*N) < 3*N*N");
}

#[test]
fn conditions_on_a_bound_variable_are_about_what_it_is_bound_to() {
    let block = ["N >= 2", "M >= 1", "i_l >= 0", "i_l < M", "i == i_l", "i >= 0", "i < M"];
    let with = |fact| [&block[..], &[fact]].concat();
    proven(&with("i < 2 || i < 1"), "i < N");
    proven(&with("floormod(2*i, 3) <= 0"), "floormod(2*i_l, 3) <= 0");
    unproven(&with("i < 4 || i < 1"), "i < N");
    // Nor does a way to a bound lead from one name to the other and back.
    let residue = ["N >= 1", "i_l >= 0", "i_l < 3", "i == i_l", "j >= 0", "j < N", "j + floormod(2*i, 3) <= 0"];
    proven(&residue, "i < N");
    unproven(&residue, "i < N - 1");
}

/// The bounds of a dtype come first, and from nearer ones they are further away than 64 bits tell.
#[test]
fn nearer_bounds_are_found_behind_those_of_a_dtype() {
    let dtype = ["-9223372036854775807 - 1 <= w", "w <= 9223372036854775807"];
    let small = [&["N >= 0", "N >= 2"], &dtype[..], &["w < 4", "N - 1 < w"]].concat();
    proven(&small, "floormod(2*w, 3) < N");
    proven(&small, "floormod(2*w, 3) >= 0");
}

/// That the loop runs says that there is an element.
#[test]
fn a_turn_of_a_multiple() {
    let mut p = Prover::new();
    p.assume_ge(&e("N"), &e("0"));
    p.assume_ge(&e("M"), &e("0"));
    p.assume_range(&Sym::new("i"), &e("0"), &e("4*N"));
    p.assume_range(&Sym::new("j"), &e("0"), &e("M - 1"));
    assert!(p.prove_lt(&e("floormod(floormod(2*N - 2*i + 1, 3), N)"), &e("N")));
}

/// Columns left of whole vectors, where facts bound the dim by a quotient of itself.
#[test]
fn what_is_left_of_vectors() {
    let facts = ["M >= 2", "j >= 0", "j + 16*floordiv(M, 16) < M", "floordiv(M, 4) >= 1", "M >= 4", "k == j"];
    proven(&facts, "k + 16*floordiv(M, 16) >= 0");
    proven(&facts, "k + 16*floordiv(M, 16) < M");
    unproven(&facts, "k + 16*floordiv(M, 16) >= 1");
}
