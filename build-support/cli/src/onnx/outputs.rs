//! Outputs as the model has them: where a length depends on data, what stands behind it is cut away.

use tenfold_onnx::Port;

/// An output of a model.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Output<'p> {
    pub(crate) port: &'p Port,
    pub(crate) shape: Vec<u64>,
    pub(crate) bytes: Vec<u8>,
}

impl Output<'_> {
    /// Takes the elements of the next call.
    pub(crate) fn append(&mut self, next: Output<'_>) -> Result<(), String> {
        if next.shape != self.shape {
            let (name, own, other) = (&self.port.name, &self.shape, &next.shape);
            return Err(format!("`{name}` has shape {own:?} in one call and {other:?} in another; run each by itself"));
        }
        self.bytes.extend(next.bytes);
        Ok(())
    }
}

/// The outputs of the model among the results of its function.
pub(crate) fn outputs<'p>(ports: &'p [Port], results: &[Vec<u8>]) -> Result<Vec<Output<'p>>, String> {
    let lengths: Vec<usize> = ports.iter().flat_map(|port| &port.lengths).map(|(_, result)| *result).collect();
    let own = ports.iter().zip(results).enumerate().filter(|(at, _)| !lengths.contains(at));
    own.map(|(_, (port, bytes))| output(port, bytes, results)).collect()
}

fn output<'p>(port: &'p Port, bytes: &[u8], results: &[Vec<u8>]) -> Result<Output<'p>, String> {
    let all: Vec<u64> = port.shape.iter().filter_map(|d| u64::try_from(d.as_const()?).ok()).collect();
    let mut shape = all.clone();
    for (axis, result) in &port.lengths {
        let told = results.get(*result).and_then(|bytes| Some(i64::from_le_bytes(bytes.as_slice().try_into().ok()?)));
        let (Some(length), Some(extent)) = (told, shape.get_mut(*axis)) else {
            return Err(format!("the length of axis {axis} of `{}` is missing", port.name));
        };
        match u64::try_from(length) {
            Ok(length) if length <= *extent => *extent = length,
            Ok(_) | Err(_) => {
                return Err(format!("axis {axis} of `{}` has the length {length}, and room for {extent}", port.name));
            }
        }
    }
    let size = port.elem.storage().map_or(1, |dtype| dtype.size_bytes());
    let bytes = if shape == all { bytes.to_vec() } else { cut(bytes, size, &all, &shape) };
    Ok(Output { port, shape, bytes })
}

/// The first elements of each axis.
fn cut(bytes: &[u8], size: usize, all: &[u64], own: &[u64]) -> Vec<u8> {
    let count: u64 = own.iter().product();
    let mut out = Vec::new();
    for n in 0..count {
        let (mut rest, mut at, mut step) = (n, 0, 1);
        for (all, own) in all.iter().zip(own).rev() {
            at += rest % own * step;
            rest /= own;
            step *= all;
        }
        out.extend(bytes.iter().skip(at as usize * size).take(size));
    }
    out
}

#[cfg(test)]
mod tests {
    use tenfold_ir::arith::IntExpr;
    use tenfold_onnx::Elem;

    use super::*;

    fn ports() -> Vec<Port> {
        let port = |name: &str, elem, shape: &[i64], lengths: &[(usize, usize)]| Port {
            name: name.into(),
            elem,
            shape: shape.iter().map(|n| IntExpr::from(*n)).collect(),
            lengths: lengths.to_vec(),
        };
        vec![port("y", Elem::Uint8, &[2, 3], &[(1, 1)]), port("length", Elem::Int64, &[], &[])]
    }

    #[test]
    fn what_is_behind_a_length_is_cut() {
        let ports = ports();
        for (length, expected) in [(2i64, vec![1, 2, 4, 5]), (0, vec![]), (3, vec![1, 2, 3, 4, 5, 6])] {
            let results = [vec![1, 2, 3, 4, 5, 6], length.to_le_bytes().to_vec()];
            let found = outputs(&ports, &results).expect("the length fits");
            assert_eq!(found, [Output { port: &ports[0], shape: vec![2, length as u64], bytes: expected }]);
        }
    }

    #[test]
    fn calls_are_joined_where_they_have_one_shape() {
        let ports = ports();
        let of = |length: i64| {
            let results = [vec![1, 2, 3, 4, 5, 6], length.to_le_bytes().to_vec()];
            outputs(&ports, &results).expect("the length fits").remove(0)
        };
        let mut all = of(1);
        assert_eq!(all.append(of(1)), Ok(()));
        assert_eq!((&all.shape, &all.bytes), (&vec![2, 1], &vec![1, 4, 1, 4]));
        let error = all.append(of(2)).expect_err("the shapes differ");
        assert_eq!(error, "`y` has shape [2, 1] in one call and [2, 2] in another; run each by itself");
    }

    #[test]
    fn a_length_beyond_the_room_is_an_error() {
        for length in [4i64, -1] {
            let results = [vec![0; 6], length.to_le_bytes().to_vec()];
            let error = outputs(&ports(), &results).expect_err("there is no room");
            assert_eq!(error, format!("axis 1 of `y` has the length {length}, and room for 3"));
        }
    }
}
