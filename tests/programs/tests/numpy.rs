//! Each program against NumPy, within the bound of the error of f32 arithmetic that `reference.py` writes beside it.

use tenfold_programs as programs;

/// A tensor of a reference file.
struct Data {
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl Data {
    fn f32(&self) -> Vec<f32> {
        self.bytes.chunks_exact(4).map(|c| f32::from_le_bytes(c.try_into().expect("four bytes"))).collect()
    }
    fn f64(&self) -> Vec<f64> {
        self.bytes.chunks_exact(8).map(|c| f64::from_le_bytes(c.try_into().expect("eight bytes"))).collect()
    }
    fn i32(&self) -> Vec<i32> {
        self.bytes.chunks_exact(4).map(|c| i32::from_le_bytes(c.try_into().expect("four bytes"))).collect()
    }
    fn i64(&self) -> Vec<i64> {
        self.bytes.chunks_exact(8).map(|c| i64::from_le_bytes(c.try_into().expect("eight bytes"))).collect()
    }
    fn i8(&self) -> Vec<i8> {
        self.bytes.iter().map(|b| b.cast_signed()).collect()
    }
}

/// A tensor of `data/PROGRAM.safetensors`.
fn load(program: &str, name: &str) -> Data {
    let path = format!("{}/data/{program}.safetensors", env!("CARGO_MANIFEST_DIR"));
    let file = std::fs::read(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    let size = u64::from_le_bytes(file[..8].try_into().expect("eight bytes")) as usize;
    let header = std::str::from_utf8(&file[8..8 + size]).expect("the header is text");
    let entry = header.split_once(&format!("\"{name}\":{{")).unwrap_or_else(|| panic!("{path} lacks `{name}`")).1;
    let entry = &entry[..entry.find('}').expect("an entry ends")];
    let numbers = |key: &str| -> Vec<usize> {
        let list = entry.split_once(&format!("\"{key}\":[")).expect("the key is there").1;
        let list = &list[..list.find(']').expect("a list ends")];
        list.split(',').filter(|n| !n.is_empty()).map(|n| n.trim().parse().expect("a number")).collect()
    };
    let range = numbers("data_offsets");
    Data { shape: numbers("shape"), bytes: file[8 + size..][range[0]..range[1]].to_vec() }
}

/// Compares a result with `name` of the program's file.
fn close(program: &str, name: &str, found: &[f32]) {
    let (expected, bound) = (load(program, name).f64(), load(program, &format!("{name}.bound")).f64());
    assert_eq!(found.len(), expected.len(), "{program}: number of elements");
    for (i, (x, (y, b))) in found.iter().zip(expected.iter().zip(&bound)).enumerate() {
        assert!((f64::from(*x) - y).abs() <= *b, "{program}: element {i} is {x}, NumPy has {y}, the bound is {b:e}");
    }
}

/// Compares whole numbers with `name` of the program's file.
fn equal<T: PartialEq + std::fmt::Debug>(program: &str, found: &[T], expected: &[T]) {
    assert_eq!(found, expected, "{program}");
}

/// The `N` numbers of a tensor as an array.
fn array<const N: usize>(data: &[f32]) -> [f32; N] {
    data.try_into().expect("the file has as many elements as the program")
}

/// Rows of `N` numbers.
fn rows<T: Copy, const N: usize>(data: &[T]) -> Vec<[T; N]> {
    data.chunks_exact(N).map(|row| row.try_into().expect("a row")).collect()
}

#[test]
fn norm() {
    let (x, gamma, beta) = (load("norm", "x"), load("norm", "gamma").f32(), load("norm", "beta").f32());
    assert_eq!(x.shape, [5, 13]);
    let x = rows::<f32, 13>(&x.f32());
    let y = programs::norm(&x, &gamma, &beta, load("norm", "eps").f32()[0]).expect("the dims agree");
    close("norm", "y", y.as_slice());
}

#[test]
fn attend() {
    let get = |name| load("attend", name).f32();
    let pos = load("attend", "old_keys").shape[1];
    let mut keys = vec![0.0; 4 * 2048 * 64];
    let mut values = keys.clone();
    for (cache, old) in [(&mut keys, get("old_keys")), (&mut values, get("old_values"))] {
        for (head, part) in old.chunks_exact(pos * 64).enumerate() {
            cache[head * 2048 * 64..][..pos * 64].copy_from_slice(part);
        }
    }
    let fixed = |data: &[f32]| rows::<f32, 64>(data);
    let q: [[f32; 64]; 8] = fixed(&get("q")).try_into().expect("eight heads");
    let k: [[f32; 64]; 4] = fixed(&get("k")).try_into().expect("four groups");
    let v: [[f32; 64]; 4] = fixed(&get("v")).try_into().expect("four groups");
    let shape = (tenfold::Fixed::<4>, tenfold::Fixed::<2048>, tenfold::Fixed::<64>);
    let mut keys_view = tenfold::view_mut(&mut keys, shape).expect("the cache has its size");
    let mut values_view = tenfold::view_mut(&mut values, shape).expect("the cache has its size");
    let y = programs::attend(&q, &k, &v, pos, &mut keys_view, &mut values_view).expect("there is room");
    close("attend", "y", y.as_slice());
    assert_eq!(keys[pos * 64..][..64], k[0], "the new key stands in its place");
    assert_eq!(values[(3 * 2048 + pos) * 64..][..64], v[3], "the new value stands in its place");
    let mut keys_view = tenfold::view_mut(&mut keys, shape).expect("the cache has its size");
    let mut values_view = tenfold::view_mut(&mut values, shape).expect("the cache has its size");
    let full = programs::attend(&q, &k, &v, 2048, &mut keys_view, &mut values_view);
    assert!(full.expect_err("there is no room").to_string().contains("the cache is full"));
}

#[test]
fn bilateral() {
    let x = rows::<f32, 11>(&load("bilateral", "x").f32());
    let y = programs::bilateral(&x, load("bilateral", "sigma").f32()[0]).expect("the dims agree");
    close("bilateral", "y", y.as_slice());
}

#[test]
fn fir() {
    let (x, h, mut tail) = (load("fir", "x").f32(), load("fir", "h").f32(), load("fir", "tail").f32());
    let y = programs::fir(&x, &h, &mut tail).expect("the dims agree");
    close("fir", "y", y.as_slice());
    equal("fir", &tail, &load("fir", "new_tail").f32());
}

#[test]
fn fft512() {
    let x: [[f32; 2]; 512] = rows::<f32, 2>(&load("fft512", "x").f32()).try_into().expect("512 points");
    let y = programs::fft512(&x);
    close("fft512", "y", y.as_slice());
}

#[test]
fn prefix_sum() {
    let y = programs::prefix_sum(&array::<33>(&load("prefix_sum", "x").f32())).expect("the dims agree");
    close("prefix_sum", "y", y.as_slice());
}

#[test]
fn life() {
    let y = programs::life(&rows::<u8, 9>(&load("life", "cell").bytes)).expect("the dims agree");
    equal("life", y.as_slice(), &load("life", "y").bytes);
}

#[test]
fn conv_s8() {
    let get = |name| load("conv_s8", name);
    let (x, w) = (get("x").i8(), get("w").i8());
    let x = tenfold::view(&x, (2, 5, 6, 3)).expect("the shape fits");
    let w = tenfold::view(&w, (4, tenfold::Fixed::<3>, tenfold::Fixed::<3>, 3)).expect("the shape fits");
    let (bias, multiplier, shift) = (get("bias").i32(), get("multiplier").i32(), get("shift").i32());
    let y = programs::conv_s8(&x, &w, &bias, &multiplier, &shift, 3, -5).expect("the dims agree");
    equal("conv_s8", y.as_slice(), &get("y").i8());
}

#[test]
fn resize() {
    let x = load("resize", "x");
    let shape = load("resize", "y").shape;
    let view = tenfold::view(&x.bytes, (x.shape[0], x.shape[1], x.shape[2])).expect("the shape fits");
    let y = programs::resize(&view, shape[0], shape[1]).expect("the dims agree");
    assert_eq!(y.shape(), [shape[0], shape[1], 3]);
    equal("resize", y.as_slice(), &load("resize", "y").bytes);
}

#[test]
fn biquads() {
    let (x, c) = (load("biquads", "x").f32(), rows::<f32, 5>(&load("biquads", "c").f32()));
    let mut z = rows::<f32, 2>(&load("biquads", "z").f32());
    let y = programs::biquads(&x, &c, &mut z).expect("the dims agree");
    close("biquads", "y", y.as_slice());
    close("biquads", "new_z", z.as_flattened());
}

#[test]
fn kmeans() {
    let get = |name| rows::<f32, 4>(&load("kmeans", name).f32());
    let (new, label) = programs::kmeans(&get("x"), &get("old")).expect("the dims agree");
    close("kmeans", "new", new.as_slice());
    equal("kmeans", label.as_slice(), &load("kmeans", "label").i32());
}

#[test]
fn histogram() {
    let image = rows::<u8, 31>(&load("histogram", "image").bytes);
    let bins = programs::histogram(&image).expect("the dims agree");
    let expected: Vec<u32> = load("histogram", "bins").i32().iter().map(|n| n.cast_unsigned()).collect();
    equal("histogram", bins.as_slice(), &expected);
}

#[test]
fn beam() {
    let get = |name| load("beam", name);
    let logp: [[f32; 11]; 4] = rows::<f32, 11>(&get("logp").f32()).try_into().expect("four beams");
    let mut tokens: [[i32; 32]; 4] = rows::<i32, 32>(&get("tokens").i32()).try_into().expect("four beams");
    let step = usize::try_from(get("step").i32()[0]).expect("a step");
    let (best, parent) = programs::beam(&logp, &array::<4>(&get("score").f32()), step, &mut tokens).expect("a step");
    equal("beam", best.as_slice(), &get("best").f32());
    equal("beam", parent.as_slice(), &get("parent").i64());
    equal("beam", tokens.as_flattened(), &get("new").i32());
}

#[test]
fn log_mel() {
    let y = programs::log_mel(&load("log_mel", "audio").f32()).expect("the dims agree");
    close("log_mel", "y", y.as_slice());
}

#[test]
fn kalman() {
    let get = |name| load("kalman", name).f32();
    let four = |name| -> [[f32; 4]; 4] { rows::<f32, 4>(&get(name)).try_into().expect("four rows") };
    let h: [[f32; 4]; 2] = rows::<f32, 4>(&get("h")).try_into().expect("two rows");
    let r: [[f32; 2]; 2] = rows::<f32, 2>(&get("r")).try_into().expect("two rows");
    let (mut x, mut p) = (array::<4>(&get("x")), four("p"));
    programs::kalman(&mut x, &mut p, &array::<2>(&get("z")), &four("f"), &h, &four("q"), &r);
    close("kalman", "new_x", &x);
    close("kalman", "new_p", p.as_flattened());
}

#[test]
fn split_weights() {
    let x = rows::<f32, 4>(&load("split", "x").f32());
    let y = programs::weights::split(&x).expect("the dims agree");
    close("split", "y", y.as_slice());
}

#[test]
fn largest() {
    let (value, place) = programs::largest(&load("largest", "x").f32()).expect("the dims agree");
    equal("largest", value.as_slice(), &load("largest", "value").f32());
    equal("largest", place.as_slice(), &load("largest", "place").i32());
}
