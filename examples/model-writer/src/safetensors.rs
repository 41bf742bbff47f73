//! Weights by name, in the format of the `safetensors` library.

/// The file that holds these tensors of `f32`: names, extents, elements.
pub fn file(tensors: &[(&str, Vec<usize>, Vec<f32>)]) -> Vec<u8> {
    let (mut entries, mut data) = (Vec::new(), Vec::new());
    for (name, shape, elements) in tensors {
        let begin = data.len();
        data.extend(elements.iter().flat_map(|element| element.to_le_bytes()));
        let end = data.len();
        entries.push(format!(r#""{name}":{{"dtype":"F32","shape":{shape:?},"data_offsets":[{begin},{end}]}}"#));
    }
    let mut header = format!("{{{}}}", entries.join(","));
    // the elements begin at a multiple of eight
    header += &" ".repeat(header.len().next_multiple_of(8) - header.len());
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat()
}

#[cfg(test)]
mod tests {
    #[test]
    fn header_and_elements() {
        let file = super::file(&[("w", vec![2], vec![1.0, -2.0])]);
        let size = usize::from(file[0]);
        assert_eq!(&file[8..8 + size].trim_ascii_end(), br#"{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#);
        assert_eq!(size % 8, 0);
        assert_eq!(&file[8 + size..], [0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0]);
    }
}
