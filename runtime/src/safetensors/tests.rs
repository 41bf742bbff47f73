//! Files as they are written, and files that are broken.

use super::{Safetensors, weight};
use crate::{Aligned, Dyn, Error, Fixed, f16};

/// A file in the first bytes of aligned memory, and its length.
fn file(header: &str, data: &[u8]) -> (Aligned<[u8; 512]>, usize) {
    let mut bytes = Aligned([0; 512]);
    let (size, data_at) = (header.len() as u64, 8 + header.len());
    bytes.0[..8].copy_from_slice(&size.to_le_bytes());
    bytes.0[8..data_at].copy_from_slice(header.as_bytes());
    bytes.0[data_at..data_at + data.len()].copy_from_slice(data);
    (bytes, data_at + data.len())
}

const GOOD: &str = r#" {"__metadata__":{"a":[1,{}]}, "a" : {"dtype":"F32","shape":[2, 1],"data_offsets":[0,8]},"é\"\u00e9\ud83d\ude00":{"shape":[],"data_offsets":[8,10],"dtype":"F16"},"flag":{"dtype":"BOOL","shape":[2],"data_offsets":[10,12]},"odd":{"dtype":"F32","shape":[0],"data_offsets":[9,9]},"q":{"dtype":"F8_E8M0","shape":[1],"data_offsets":[0,1]}}"#;
const DATA: [u8; 12] = [0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0, 0, 0x3c, 1, 2];

/// `GOOD` with spaces before it, so that its elements are aligned, after a change of its text.
fn with(from: &str, to: &str) -> (Aligned<[u8; 512]>, usize) {
    let text = GOOD.replacen(from, to, 1);
    let mut room = [b' '; 440];
    let begin = text.len().next_multiple_of(8) - text.len();
    room[begin..begin + text.len()].copy_from_slice(text.as_bytes());
    let header = core::str::from_utf8(&room[..begin + text.len()]).expect("text with spaces before it");
    file(header, &DATA)
}

extern crate std;
use std::string::ToString;

#[test]
fn tensors_by_name_where_they_lie() {
    let (bytes, length) = with("", "");
    let file = Safetensors::new(&bytes.0[..length]).expect("a good file");
    let a = file.tensor::<f32, (Dyn, Fixed<1>)>("a").expect("it is there");
    assert_eq!(a, [[1.0], [-2.0]]);
    assert_eq!(a.as_ptr().cast(), &raw const bytes.0[length - 12]);
    assert_eq!(file.tensor::<f16, ()>("é\"é😀").expect("it is there").as_slice(), [f16::from_f32(1.0)]);
    assert_eq!(file.tensor::<f32, (Dyn,)>("odd").expect("it is empty").as_slice(), [0.0_f32; 0]);
    let names = std::format!("{file:?}");
    assert!(names.starts_with("Safetensors[\"a\"") && !names.contains("metadata"), "{names}");
}

#[test]
fn what_does_not_fit_is_said() {
    let (bytes, length) = with("", "");
    let file = Safetensors::new(&bytes.0[..length]).expect("a good file");
    let text = |found: Result<(), Error>| found.expect_err("it does not fit").to_string();
    let one = |name| text(file.tensor::<f32, (Dyn, Fixed<3>)>(name).map(drop));
    assert_eq!(one("b"), "no file holds a tensor `b`");
    assert_eq!(one("a"), "`a`: axis 1 is 1, but the signature says 3");
    assert_eq!(one("odd"), "`odd`: the rank is 1, but the signature says 2");
    assert_eq!(one("flag"), "`flag`: the elements are `bool`, but the signature says `f32`");
    assert_eq!(
        one("q"),
        "the file cannot be read: its header has a tensor of an unknown dtype, or says nonsense of it"
    );
    let bools = text(file.tensor::<bool, (Dyn,)>("flag").map(drop));
    assert_eq!(bools, "`flag`: the memory is not aligned for the elements, or not a whole number of them");
    let two = [file, file];
    assert_eq!(text(weight::<f32, (Dyn,)>(&two, "none").map(drop)), "no file holds a tensor `none`");
    assert!(weight::<f32, (Dyn, Dyn)>(&two, "a").is_ok());
}

#[test]
fn damaged_files_are_errors() {
    let (bytes, length) = with("", "");
    for end in 0..length - DATA.len() {
        assert!(Safetensors::new(&bytes.0[..end]).is_err(), "{end}");
    }
    for end in length - DATA.len()..length - 4 {
        let file = Safetensors::new(&bytes.0[..end]).expect("its header is whole");
        assert!(file.tensor::<f32, (Dyn, Fixed<1>)>("a").is_err(), "{end}");
    }
    for (from, to) in [
        ("[2, 1]", "[2, 2]"),
        ("[2, 1]", "[18446744073709551615, 1]"),
        ("[2, 1]", "[2, -1]"),
        ("[2, 1]", "7"),
        ("[0,8]", "[8,0]"),
        ("[0,8]", "[99999999999,99999999999]"),
        ("[0,8]", "[0,8,9]"),
        ("[0,8]", "[1,9]"),
        ("F32", "F33"),
    ] {
        let (bytes, length) = with(from, to);
        let file = Safetensors::new(&bytes.0[..length]).expect("its header is a table");
        assert!(file.tensor::<f32, (Dyn, Fixed<1>)>("a").is_err(), "{from} {to}");
    }
    for (from, to) in [("{", "["), (":", ","), ("}}", "}"), ("}}", "}} 1")] {
        let (bytes, length) = with(from, to);
        assert!(Safetensors::new(&bytes.0[..length]).is_err(), "{from} {to}");
    }
}

/// Values inside of values are followed so far and no further, whoever wrote the file.
#[test]
fn a_header_nests_so_deep_and_no_deeper() {
    let nested = |depth: usize| {
        let (bytes, length) = with("[1,{}]", &("[".repeat(depth) + &"]".repeat(depth)));
        Safetensors::new(&bytes.0[..length]).is_ok()
    };
    assert!(nested(30));
    assert!(!nested(31) && !nested(40));
}
