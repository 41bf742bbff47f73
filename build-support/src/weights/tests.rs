//! Files as they are written, and files that are broken.

use super::*;
use std::fs;

fn package(name: &str, files: &[(&str, &[u8])]) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("tenfold-weights-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).unwrap();
    for (file, bytes) in files {
        fs::write(directory.join(file), bytes).unwrap();
    }
    directory
}

fn safetensors(header: &str, data: usize) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.resize(bytes.len() + data, 0);
    bytes
}

const GOOD: &str = r#"{"__metadata__":{"a":"b"},"fc1.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"é\"\u00e9":{"dtype":"BF16","shape":[],"data_offsets":[24,26]}}"#;

#[test]
fn tensors_by_name() {
    let file = safetensors(GOOD, 26);
    let directory = package("safetensors", &[("w.safetensors", &file)]);
    let find = |name| find(&directory, "w.safetensors", Wanted::Safetensors(name));
    let weight = find("fc1.weight").unwrap();
    assert_eq!((weight.dtype, weight.shape, weight.length), (DType::F32, vec![2, 3], 24));
    assert_eq!(weight.offset, 8 + GOOD.len() as u64);
    assert_eq!(find("é\"é").unwrap().shape, [0; 0]);
    let failure = find("fc1.wieght").unwrap_err();
    assert_eq!(failure.code, Code::TensorMissing);
    assert_eq!(failure.help, "did you mean `fc1.weight`?");
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn damaged_files_are_errors() {
    let good = safetensors(GOOD, 26);
    let directory = package("damaged", &[]);
    let path = directory.join("w.safetensors");
    let find = || find(&directory, "w.safetensors", Wanted::Safetensors("fc1.weight"));
    for end in (0..8 + GOOD.len() + 24).step_by(3) {
        fs::write(&path, &good[..end]).unwrap();
        assert!(find().is_err(), "{end}");
    }
    for (from, to) in [
        ("[2,3]", "[2,4]"),
        ("[2,3]", "[18446744073709551615,3]"),
        ("[0,24]", "[24,0]"),
        ("[0,24]", "[99999999999,99999999999]"),
        ("[0,24]", "[0,18446744073709551615]"),
        ("[0,24]", "[-1,23]"),
        ("[0,24]", "[0]"),
        ("[0,24]", "[]"),
        ("[0,24]", "24"),
        ("[0,24]", "[0,24,24]"),
        ("[0,24]", "[1e9,1e10]"),
        ("[0,24]", "[4,28]"),
        ("[2,3]", "[-2,-3]"),
        ("[2,3]", "[2.5,3]"),
        ("[2,3]", "[4294967296,4294967296]"),
        ("[2,3]", "6"),
        ("[2,3]", "null"),
        ("F32", "F33"),
        ("F32", "BOOL"),
        ("F32", ""),
        ("\"F32\"", "7"),
        ("dtype", "type"),
        ("{", "["),
        ("{", "{{"),
        ("}}", ""),
        (",", ""),
        ("\"fc1.weight\":", "\"fc1.weight\":\"other\",\"x\":"),
        ("{\"__metadata__\"", &format!("{}\"__metadata__\"", "[".repeat(100_000))),
        ("{\"__metadata__\"", &format!("{}\"__metadata__\"", "{\"a\":".repeat(100_000))),
    ] {
        fs::write(&path, safetensors(&GOOD.replacen(from, to, 9), 26)).unwrap();
        let failure = find().expect_err(from);
        let known = [Code::FileDamaged, Code::TensorMissing];
        assert!(known.contains(&failure.code) && !failure.message.is_empty(), "{from} {to}: {failure:?}");
    }
    fs::write(&path, u64::MAX.to_le_bytes()).unwrap();
    assert!(find().is_err());
    fs::remove_dir_all(directory).unwrap();
}

fn npy(header: &str, data: usize) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.resize(bytes.len() + data, 0);
    bytes
}

#[test]
fn npy_files() {
    let directory = package("npy", &[]);
    let path = directory.join("a.npy");
    let find = |header: &str, data| {
        fs::write(&path, npy(header, data)).unwrap();
        find(&directory, "a.npy", Wanted::Npy)
    };
    let good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n";
    assert_eq!(find(good, 24).unwrap().shape, [2, 3]);
    assert_eq!(find(&good.replace("(2, 3)", "(6,)"), 24).unwrap().shape, [6]);
    assert_eq!(find(&good.replace("(2, 3)", "()"), 4).unwrap().shape, [0; 0]);
    assert_eq!(find(&good.replace("<f4", "|u1"), 6).unwrap().dtype, DType::U8);
    for (from, to) in [
        ("<f4", ">f4"),
        ("<f4", "<c8"),
        ("False", "True"),
        ("(2, 3)", "(2, -3)"),
        ("(2, 3)", "(99999999999, 99999999999)"),
        ("'shape'", "'shap'"),
    ] {
        let failure = find(&good.replace(from, to), 24).unwrap_err();
        assert_eq!(failure.code, Code::FileDamaged, "{from} {to}");
    }
    assert!(find(good, 23).is_err());
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn the_index_of_several_files() {
    let file = safetensors(GOOD, 26);
    let index = r#"{"metadata":{"total_size":26},"weight_map":{"fc1.weight":"a.safetensors","lost":"b.safetensors","fc2.weight":"a.safetensors","out":"../a.safetensors","odd":7}}"#;
    let directory = package("shards", &[("a.safetensors", &file)]);
    fs::create_dir_all(directory.join("sub")).unwrap();
    fs::write(directory.join("sub/a.safetensors"), &file).unwrap();
    fs::write(directory.join("sub/m.index.json"), index).unwrap();
    let find = |name| find(&directory, "sub/m.index.json", Wanted::Safetensors(name));
    let weight = find("fc1.weight").unwrap();
    assert_eq!((weight.path, weight.shape), (directory.join("sub/a.safetensors"), vec![2, 3]));
    let failure = |name, code, message: &str, help: &str| {
        let failure = find(name).unwrap_err();
        assert_eq!((failure.code, failure.message.as_str(), failure.help.as_str()), (code, message, help));
    };
    failure(
        "fc1.wight",
        Code::TensorMissing,
        "`sub/m.index.json` has no tensor `fc1.wight`",
        "did you mean `fc1.weight`?",
    );
    failure(
        "lost",
        Code::FileMissing,
        "there is no file `sub/b.safetensors`; `sub/m.index.json` names it",
        "did you mean `sub/a.safetensors`?",
    );
    failure(
        "fc2.weight",
        Code::TensorMissing,
        "`sub/a.safetensors` has no tensor `fc2.weight`; `sub/m.index.json` names it",
        "did you mean `fc1.weight`?",
    );
    failure(
        "odd",
        Code::FileDamaged,
        "`sub/m.index.json` cannot be read: it names no file for `odd`",
        "write the file anew",
    );
    // a name that leads above the index's folder is taken, as long as it stays inside the package
    assert_eq!(find("out").unwrap_err().code, Code::TensorMissing);
    let shards = ["a.safetensors", "sub/a.safetensors", "sub/b.safetensors"];
    assert_eq!(shards::all(&directory, "sub/m.index.json"), shards);
    fs::write(directory.join("sub/m.index.json"), "{}").unwrap();
    assert!(find("fc1.weight").unwrap_err().message.contains("`weight_map`"));
    fs::remove_dir_all(directory).unwrap();
}

/// An archive as NumPy writes it: sizes in the extra field of each member, and in its directory.
fn npz(members: &[(&str, Vec<u8>)], method: u16, wide: bool) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, body) in members {
        let (offset, size) = (bytes.len() as u64, body.len() as u64);
        let extra =
            [&1_u16.to_le_bytes()[..], &16_u16.to_le_bytes(), &size.to_le_bytes(), &size.to_le_bytes()].concat();
        bytes.extend(b"PK\x03\x04\x2d\0\0\0");
        bytes.extend(method.to_le_bytes());
        bytes.extend([0; 8]);
        bytes.extend([0xff; 8]);
        bytes.extend((name.len() as u16).to_le_bytes());
        bytes.extend((extra.len() as u16).to_le_bytes());
        bytes.extend([name.as_bytes(), &extra, body].concat());
        let (narrow, extra) = match wide {
            true => (
                u32::MAX,
                [&1_u16.to_le_bytes()[..], &24_u16.to_le_bytes(), &extra[4..], &offset.to_le_bytes()].concat(),
            ),
            false => (size as u32, Vec::new()),
        };
        directory.extend(b"PK\x01\x02\x2d\0\x2d\0\0\0");
        directory.extend(method.to_le_bytes());
        directory.extend([0; 8]);
        directory.extend([narrow.to_le_bytes(), narrow.to_le_bytes()].concat());
        directory.extend((name.len() as u16).to_le_bytes());
        directory.extend((extra.len() as u16).to_le_bytes());
        directory.extend([0; 10]);
        directory.extend(if wide { u32::MAX } else { offset as u32 }.to_le_bytes());
        directory.extend([name.as_bytes(), &extra].concat());
    }
    let (begin, size) = (bytes.len() as u64, directory.len() as u64);
    bytes.extend(&directory);
    if wide {
        let record = bytes.len() as u64;
        bytes.extend(b"PK\x06\x06");
        bytes.extend([0; 36]);
        bytes.extend([size.to_le_bytes(), begin.to_le_bytes()].concat());
        bytes.extend(b"PK\x06\x07\0\0\0\0");
        bytes.extend(record.to_le_bytes());
        bytes.extend([1, 0, 0, 0]);
    }
    let narrow = |n: u64| if wide { u32::MAX } else { n as u32 }.to_le_bytes();
    bytes.extend(b"PK\x05\x06\0\0\0\0\x02\0\x02\0");
    bytes.extend([narrow(size), narrow(begin)].concat());
    bytes.extend([0; 2]);
    bytes
}

#[test]
fn npz_files() {
    let array = |shape| npy(&format!("{{'descr': '<f2', 'fortran_order': False, 'shape': {shape}, }}\n"), 12);
    let members = [("a.npy", array("(6,)")), ("layer/b.npy", array("(2, 3)"))];
    let directory = package("npz", &[]);
    let path = directory.join("w.npz");
    let find = |name| find(&directory, "w.npz", Wanted::Npz(name));
    for wide in [false, true] {
        let file = npz(&members, 0, wide);
        fs::write(&path, &file).unwrap();
        let found = find("layer/b").unwrap();
        assert_eq!((found.dtype, found.shape, found.length), (DType::F16, vec![2, 3], 12));
        let header = file.windows(6).rposition(|six| six == b"\x93NUMPY").unwrap() as u64;
        assert_eq!(found.offset, header + members[1].1.len() as u64 - 12);
        assert_eq!(find("layer/c").unwrap_err().help, "did you mean `layer/b`?");
        for end in 0..file.len() {
            fs::write(&path, &file[..end]).unwrap();
            assert!(find("a").is_err(), "{end}");
        }
    }
    fs::write(&path, npz(&members, 8, false)).unwrap();
    assert_eq!(
        find("a").unwrap_err().message,
        "`w.npz` cannot be read: `a` is compressed in it; write it with `numpy.savez`"
    );
    fs::write(&path, npz(&[("a.npy", array("(7,)"))], 0, false)).unwrap();
    assert_eq!(
        find("a").unwrap_err().message,
        "`w.npz` cannot be read: f16 with extents [7] takes 14 bytes, and there are 12"
    );
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn names_that_lead_nowhere() {
    let directory = package("names", &[("weights.npy", b"")]);
    let code = |name| find(&directory, name, Wanted::Npy).unwrap_err();
    assert_eq!(code("../w.npy").code, Code::FileOutside);
    let missing = code("wieghts.npy");
    assert_eq!(missing.code, Code::FileMissing);
    assert_eq!(missing.help, "did you mean `weights.npy`?");
    fs::remove_dir_all(directory).unwrap();
}
