//! The PTX of a fat binary: what nvcc puts into a program for each architecture it was asked for.
//!
//! A program hands over a wrapper that points to the data: a header, and entries of machine code or PTX, plain or
//! compressed. The newest PTX is taken; machine code cannot be executed here.

use std::ffi::c_void;
use std::io::Read;

/// Why there is no PTX.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FatbinError {
    #[error("the program's device code is in a form that is not known (magic number {0:#x})")]
    Magic(u32),
    #[error("the program's device code ends in the middle of an entry")]
    Truncated,
    #[error("the program has machine code but no PTX\n  build it with `-gencode arch=compute_75,code=compute_75`")]
    NoPtx,
    #[error("the program's PTX cannot be decompressed: {0}")]
    Compression(String),
}

const WRAPPER_MAGIC: u32 = 0x4662_43b1;
const DATA_MAGIC: u32 = 0xba55_ed50;
const HEADER_BYTES: usize = 16;
const KIND_PTX: u16 = 1;
const IS_LZ4: u64 = 0x2000;
const IS_ZSTD: u64 = 0x8000;

/// More text than this is refused: a size that is wrong must not exhaust memory.
const LONGEST: usize = 1 << 30;

#[repr(C)]
struct Wrapper {
    magic: u32,
    version: u32,
    data: *const u8,
}

/// The newest PTX of the fat binary that a wrapper points to.
///
/// # Safety
/// `wrapper` is what nvcc's code passes to `__cudaRegisterFatBinary`.
pub unsafe fn text(wrapper: *const c_void) -> Result<String, FatbinError> {
    // SAFETY: per the contract; the header says how long the data are.
    let data = unsafe {
        let wrapper = &*wrapper.cast::<Wrapper>();
        if wrapper.magic != WRAPPER_MAGIC {
            return Err(FatbinError::Magic(wrapper.magic));
        }
        let header = std::slice::from_raw_parts(wrapper.data, HEADER_BYTES);
        let length = header_length(header)?;
        std::slice::from_raw_parts(wrapper.data, length)
    };
    newest(data)
}

/// The newest PTX of a fat binary's data.
pub fn newest(data: &[u8]) -> Result<String, FatbinError> {
    let end = header_length(data)?;
    let data = data.get(..end).ok_or(FatbinError::Truncated)?;
    let mut at = usize::from(u16_at(data, 6)?);
    let mut best: Option<(u32, &[u8], u64, usize)> = None;
    while at < data.len() {
        let entry = &data[at..];
        let (kind, header) = (u16_at(entry, 0)?, u32_at(entry, 4)? as usize);
        let payload = usize::try_from(u64_at(entry, 8)?).map_err(|_| FatbinError::Truncated)?;
        let end = header.checked_add(payload).filter(|end| *end > 0).ok_or(FatbinError::Truncated)?;
        let body = entry.get(header..end).ok_or(FatbinError::Truncated)?;
        if kind == KIND_PTX {
            let (compressed, architecture) = (u32_at(entry, 16)? as usize, u32_at(entry, 28)?);
            let (flags, plain) = (u64_at(entry, 40)?, u64_at(entry, 56)? as usize);
            // The payload is padded; the compressed size is exact.
            let body = if flags & (IS_LZ4 | IS_ZSTD) != 0 { body.get(..compressed).unwrap_or(body) } else { body };
            if best.is_none_or(|(known, ..)| architecture > known) {
                best = Some((architecture, body, flags, plain));
            }
        }
        at += end;
    }
    let (_, body, flags, plain) = best.ok_or(FatbinError::NoPtx)?;
    decompressed(body, flags, plain)
}

fn header_length(data: &[u8]) -> Result<usize, FatbinError> {
    let magic = u32_at(data, 0)?;
    if magic != DATA_MAGIC {
        return Err(FatbinError::Magic(magic));
    }
    let entries = usize::try_from(u64_at(data, 8)?).map_err(|_| FatbinError::Truncated)?;
    usize::from(u16_at(data, 6)?).checked_add(entries).ok_or(FatbinError::Truncated)
}

fn decompressed(body: &[u8], flags: u64, plain: usize) -> Result<String, FatbinError> {
    let failed = |error: &dyn std::fmt::Display| FatbinError::Compression(error.to_string());
    if plain > LONGEST {
        return Err(FatbinError::Truncated);
    }
    let bytes = if flags & IS_ZSTD != 0 {
        let decoder = ruzstd::decoding::StreamingDecoder::new(body).map_err(|error| failed(&error))?;
        let mut bytes = Vec::new();
        decoder.take(LONGEST as u64).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
        bytes
    } else if flags & IS_LZ4 != 0 {
        lz4_flex::block::decompress(body, plain).map_err(|error| failed(&error))?
    } else {
        body.to_vec()
    };
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(text).into_owned())
}

fn bytes_at<const N: usize>(data: &[u8], offset: usize) -> Result<[u8; N], FatbinError> {
    data.get(offset..).and_then(|rest| rest.first_chunk()).copied().ok_or(FatbinError::Truncated)
}

fn u16_at(data: &[u8], offset: usize) -> Result<u16, FatbinError> {
    bytes_at(data, offset).map(u16::from_le_bytes)
}

fn u32_at(data: &[u8], offset: usize) -> Result<u32, FatbinError> {
    bytes_at(data, offset).map(u32::from_le_bytes)
}

fn u64_at(data: &[u8], offset: usize) -> Result<u64, FatbinError> {
    bytes_at(data, offset).map(u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fat binary with one entry for each `(kind, architecture, flags, body, plain size)`.
    fn fat_binary(entries: &[(u16, u32, u64, &[u8], usize)]) -> Vec<u8> {
        let mut all = Vec::new();
        for (kind, architecture, flags, body, plain) in entries {
            let mut entry = vec![0; 64];
            entry[0..2].copy_from_slice(&kind.to_le_bytes());
            entry[4..8].copy_from_slice(&64u32.to_le_bytes());
            let padded = body.len().next_multiple_of(8);
            entry[8..16].copy_from_slice(&(padded as u64).to_le_bytes());
            entry[16..20].copy_from_slice(&(body.len() as u32).to_le_bytes());
            entry[28..32].copy_from_slice(&architecture.to_le_bytes());
            entry[40..48].copy_from_slice(&flags.to_le_bytes());
            entry[56..64].copy_from_slice(&(*plain as u64).to_le_bytes());
            entry.extend_from_slice(body);
            entry.resize(64 + padded, 0);
            all.extend(entry);
        }
        let mut data = DATA_MAGIC.to_le_bytes().to_vec();
        data.extend(1u16.to_le_bytes());
        data.extend(16u16.to_le_bytes());
        data.extend((all.len() as u64).to_le_bytes());
        data.extend(all);
        data
    }

    const TEXT: &str = ".version 9.0 .version 9.0 .version 9.0 // the same again and again and again";

    #[test]
    fn the_newest_text_is_taken_whatever_its_form() {
        let lz4 = lz4_flex::block::compress(TEXT.as_bytes());
        let zstd = ruzstd::encoding::compress_to_vec(TEXT.as_bytes(), ruzstd::encoding::CompressionLevel::Uncompressed);
        for (flags, body) in [(0, TEXT.as_bytes()), (IS_LZ4, &lz4), (IS_ZSTD, &zstd)] {
            let data = fat_binary(&[
                (2, 90, 0, b"machine code", 0),
                (1, 75, 0, b"old\0", 3),
                (1, 80, flags, body, TEXT.len()),
            ]);
            assert_eq!(newest(&data).as_deref(), Ok(TEXT));
        }
    }

    #[test]
    fn what_is_missing_is_said() {
        assert_eq!(newest(&fat_binary(&[(2, 90, 0, b"machine code", 0)])), Err(FatbinError::NoPtx));
        assert_eq!(newest(&[1, 2, 3, 4, 5, 6, 7, 8]), Err(FatbinError::Magic(0x0403_0201)));
        let mut data = fat_binary(&[(1, 75, 0, TEXT.as_bytes(), TEXT.len())]);
        data.truncate(60);
        assert_eq!(newest(&data), Err(FatbinError::Truncated));
        let broken = fat_binary(&[(1, 75, IS_ZSTD, b"no zstd at all", 100)]);
        assert!(matches!(newest(&broken), Err(FatbinError::Compression(_))));
    }
}
