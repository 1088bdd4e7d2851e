//! Gives Python `linkwright.GpuKernel`: kernels of one's own.

use std::sync::Arc;

use linkwright::diagnostic::{Diagnosis, Named};
use linkwright::memory::kernel::recorded::{
    self, Action, Copies, Expected, MOST_GROUPS, MOST_WAVEFRONTS, Offsets, RecordedBuffer,
    RecordedError, RecordedKernel, Touched, Words,
};
use linkwright::memory::kernel::{AtomicOperation, Scope};
use linkwright::units::Bytes;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::argument::{Argument, Refusal, as_extracted, given, size};
use crate::errors;
use crate::number::whole;

/// Describes a kernel of one's own, as the operations of each wavefront.
///
/// A wavefront is named by the number of a work-group, or by a pair of that and its number in the
/// group. Work-groups go to the GPUs in equal runs, in order. An access touches `width` bytes of
/// each of `lanes` work-items. They lie `stride` bytes apart from `offset` on in a buffer, or at
/// `offsets`, one for each; None for those that take no part. Loads go on before their words are
/// there: `wait` waits.
///
/// `GpuSystem.play` runs it; `to_text` is the file that `linkwright gpu run FILE` takes.
#[pyclass(eq, module = "linkwright.gpu")]
#[derive(Clone, PartialEq)]
pub struct GpuKernel {
    kernel: Arc<RecordedKernel>,
}

impl Serialize for GpuKernel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        recorded::write(&self.kernel).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for GpuKernel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let kernel = recorded::read_unfinished("<pickle>", &text).map_err(D::Error::custom)?;
        Ok(Self { kernel: Arc::new(kernel) })
    }
}

/// Names a wavefront by its group and its number there.
struct Place(i128, i128);

impl<'a, 'py> Argument<'a, 'py> for Place {
    fn words() -> (String, String) {
        let one = "a work-group, or a pair of it and the number of a wavefront";
        (one.to_owned(), "wavefronts".to_owned())
    }

    fn read(value: &'a Bound<'py, PyAny>) -> Result<Self, Refusal> {
        if let Ok(group) = i128::read(value) {
            return Ok(Self(group, 0));
        }
        let read: Result<(i128, i128), Refusal> = Argument::read(value);
        let wavefront = read.map_err(|_| Refusal::wrong(value, Self::words().0))?;
        Ok(Self(wavefront.0, wavefront.1))
    }
}

as_extracted!(
    Word: "a number", "numbers";
    Values<'py>: "a number, a list of numbers, or bytes", "numbers";
);

impl Place {
    fn numbers(&self) -> PyResult<(u32, u32)> {
        let Self(group, wavefront) = self;
        Ok((
            whole("a work-group", *group, MOST_GROUPS - 1)?,
            whole("a wavefront", *wavefront, MOST_WAVEFRONTS - 1)?,
        ))
    }
}

/// Holds a word of memory, as a whole number or as a real one.
#[derive(FromPyObject)]
enum Word {
    Whole(i128),
    Real(f64),
}

impl Word {
    fn bits(&self) -> PyResult<u32> {
        match *self {
            Self::Real(real) => Ok((real as f32).to_bits()),
            Self::Whole(value) => u32::try_from(value)
                .ok()
                .or_else(|| i32::try_from(value).ok().map(|value| value as u32))
                .ok_or_else(|| {
                    let refused = Diagnosis::of(format!("{value} is no value of 4 bytes"));
                    errors::range(refused.remedy("give -2147483648 to 4294967295, or a float"))
                }),
        }
    }
}

/// Holds words: one for all, one for each, or bytes with the lowest of each word first.
#[derive(FromPyObject)]
enum Values<'py> {
    Bytes(Bound<'py, PyBytes>),
    One(Word),
    Each(Vec<Word>),
}

impl Values<'_> {
    fn words(&self) -> PyResult<Words> {
        match self {
            Self::One(word) => Ok(Words::Ramp { first: word.bits()?, step: 0 }),
            Self::Each(words) => {
                Ok(Words::Listed(words.iter().map(Word::bits).collect::<PyResult<_>>()?))
            }
            Self::Bytes(bytes) => {
                let words = bytes.as_bytes().chunks(4).map(|word| {
                    let mut whole = [0; 4];
                    whole[..word.len()].copy_from_slice(word);
                    u32::from_le_bytes(whole)
                });
                Ok(Words::Listed(words.collect()))
            }
        }
    }
}

/// Where the words of an access are.
struct Where<'a> {
    buffer: &'a str,
    offset: i128,
    bytes: i128,
    stride: Option<i128>,
    lanes: i128,
    offsets: Option<Vec<Option<i128>>>,
}

/// The largest number of bytes that is handed on; the core refuses more than it can.
const WIDEST: u64 = 1 << 41;

impl GpuKernel {
    /// Returns the core's kernel.
    pub fn core(&self) -> &Arc<RecordedKernel> {
        &self.kernel
    }

    fn touched(&self, at: Where<'_>) -> PyResult<Touched> {
        let Where { buffer, offset, bytes, stride, lanes, offsets } = at;
        let offsets = match offsets {
            Some(offsets) => Offsets::Listed(
                offsets
                    .iter()
                    .map(|it| it.map(|it| whole("an offset", it, WIDEST)).transpose())
                    .collect::<PyResult<_>>()?,
            ),
            None => Offsets::Strided {
                first: whole("offset", offset, WIDEST)?,
                stride: whole("stride", stride.unwrap_or(bytes), WIDEST)?,
                lanes: whole("lanes", lanes, u32::MAX)?,
            },
        };
        let buffer = self.kernel.buffer(buffer).map_err(refused)?;
        Ok(Touched { buffer, offsets, width: whole("bytes", bytes, u32::MAX)? })
    }

    /// Describes the memory that an operation on one address touches.
    fn one(&self, buffer: &str, offset: i128, bytes: i128) -> PyResult<Touched> {
        let at = Where { buffer, offset, bytes, stride: Some(0), lanes: 1, offsets: None };
        self.touched(at)
    }

    fn push(&mut self, wavefront: &Place, action: Action) -> PyResult<()> {
        let at = wavefront.numbers()?;
        Arc::make_mut(&mut self.kernel).push(at, action).map_err(refused)
    }
}

fn refused(error: RecordedError) -> PyErr {
    errors::range(error)
}

type Offset = Option<Vec<Option<i128>>>;

#[pymethods]
impl GpuKernel {
    /// Makes a kernel without buffers and operations.
    ///
    /// Args:
    ///     name: The name for people.
    ///
    /// Raises:
    ///     SimulationError: If the name is none.
    #[new]
    #[pyo3(signature = (name: "str" = "kernel"))]
    fn new(#[pyo3(from_py_with = given)] name: &str) -> PyResult<Self> {
        Ok(Self { kernel: Arc::new(RecordedKernel::new(name).map_err(refused)?) })
    }

    /// Reads a kernel from a text.
    ///
    /// Args:
    ///     text: The content of the file (docs/reference/formats.md).
    ///     file: Its name, for errors.
    ///
    /// Raises:
    ///     InputError: If the text is no kernel, with line and column.
    #[staticmethod]
    #[pyo3(signature = (text: "str", file: "str" = "<text>"))]
    fn from_text(
        py: Python<'_>,
        #[pyo3(from_py_with = given)] text: &str,
        #[pyo3(from_py_with = given)] file: &str,
    ) -> PyResult<Self> {
        let kernel = py.detach(|| recorded::read(file, text)).map_err(errors::input)?;
        Ok(Self { kernel: Arc::new(kernel) })
    }

    /// Returns the kernel as a text, which `from_text` and `linkwright gpu run` take.
    fn to_text(&self) -> String {
        recorded::write(&self.kernel)
    }

    /// Returns its name for people.
    #[getter]
    fn name(&self) -> &str {
        self.kernel.name()
    }

    /// The names of its buffers.
    #[getter]
    fn buffers(&self) -> Vec<&str> {
        self.kernel.buffers().iter().map(|buffer| buffer.name.as_str()).collect()
    }

    /// How many operations all its wavefronts have.
    #[getter]
    fn operations(&self) -> u64 {
        self.kernel.operations()
    }

    /// Adds a buffer.
    ///
    /// Args:
    ///     name: The name for people.
    ///     size: How many bytes it has, a multiple of 4.
    ///     copy: Which way the host copies it, where GPUs have memories of their own: `in`, `out`,
    ///         `inout` or `scratch` (neither).
    ///     data: Its content at the start: a value of 4 bytes for all words, one for each, or
    ///         bytes, as `array.tobytes()` gives them.
    ///
    /// Raises:
    ///     SimulationError: If the name is taken or none, the size is not possible, or the data
    ///         are not as many or not copied in.
    #[pyo3(signature = (
        name: "str", size: "int | str", copy: "str" = "in", *, data: "int | float | bytes | Sequence[int | float]" = Values::One(Word::Whole(0))
    ))]
    fn buffer(
        &mut self,
        #[pyo3(from_py_with = given)] name: &str,
        #[pyo3(from_py_with = size)] size: i128,
        #[pyo3(from_py_with = given)] copy: &str,
        #[pyo3(from_py_with = given)] data: Values<'_>,
    ) -> PyResult<()> {
        let copies = Copies::from_name(copy).map_err(errors::range)?;
        let size = Bytes(whole("size", size, WIDEST)?);
        let (name, initial) = (name.to_owned(), data.words()?);
        let buffer = RecordedBuffer { name, size, copies, initial };
        Arc::make_mut(&mut self.kernel).add_buffer(buffer).map_err(refused)
    }

    /// Begins another launch, which starts when the one before has ended.
    ///
    /// Args:
    ///     name: The name for people.
    ///     lds: Bytes of memory that each of its work-groups shares.
    ///
    /// Raises:
    ///     SimulationError: If the name is none, or the bytes are not possible.
    #[pyo3(signature = (name: "str", *, lds: "int | str" = 0))]
    fn launch(
        &mut self,
        #[pyo3(from_py_with = given)] name: &str,
        #[pyo3(from_py_with = size)] lds: i128,
    ) -> PyResult<()> {
        let lds = Bytes(whole("lds", lds, WIDEST)?);
        Arc::make_mut(&mut self.kernel).launch(name, lds).map_err(refused)
    }

    /// Asks for words.
    ///
    /// Args:
    ///     wavefront: Whose operation it is.
    ///     buffer: From which buffer.
    ///     offset: The first work-item's first byte there.
    ///     width: Bytes of each work-item: 4, 8, 12 or 16.
    ///     stride: Bytes from a work-item's to the next one's; as many as it loads if not given.
    ///     lanes: How many work-items take part.
    ///     offsets: Instead of these, the first byte of each work-item.
    ///     record: The name under which `GpuRun.loads` has the words.
    ///
    /// Raises:
    ///     SimulationError: If there is no such buffer, or it does not have these bytes.
    #[pyo3(signature = (
        wavefront: "int | tuple[int, int]", buffer: "str", offset: "int" = 0, *, width: "int" = 4,
        stride: "int | None" = None, lanes: "int" = 64, offsets: "Sequence[int | None] | None" = None,
        record: "str | None" = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn load(
        &mut self,
        #[pyo3(from_py_with = given)] wavefront: Place,
        #[pyo3(from_py_with = given)] buffer: &str,
        #[pyo3(from_py_with = given)] offset: i128,
        #[pyo3(from_py_with = given)] width: i128,
        #[pyo3(from_py_with = given)] stride: Option<i128>,
        #[pyo3(from_py_with = given)] lanes: i128,
        #[pyo3(from_py_with = given)] offsets: Offset,
        #[pyo3(from_py_with = given)] record: Option<String>,
    ) -> PyResult<()> {
        let at = Where { buffer, offset, bytes: width, stride, lanes, offsets };
        let action = Action::Load(self.touched(at)?, record);
        self.push(&wavefront, action)
    }

    /// Asks for up to 64 bytes of one address, through the cache of scalars.
    ///
    /// Args:
    ///     wavefront: Whose operation it is.
    ///     buffer: From which buffer.
    ///     offset: The first byte there.
    ///     width: How many bytes.
    ///     record: The name under which `GpuRun.loads` has the words.
    ///
    /// Raises:
    ///     SimulationError: If there is no such buffer, or it does not have these bytes.
    #[pyo3(signature = (
        wavefront: "int | tuple[int, int]", buffer: "str", offset: "int" = 0, *, width: "int" = 4, record: "str | None" = None
    ))]
    fn load_scalar(
        &mut self,
        #[pyo3(from_py_with = given)] wavefront: Place,
        #[pyo3(from_py_with = given)] buffer: &str,
        #[pyo3(from_py_with = given)] offset: i128,
        #[pyo3(from_py_with = given)] width: i128,
        #[pyo3(from_py_with = given)] record: Option<String>,
    ) -> PyResult<()> {
        let action = Action::Scalar(self.one(buffer, offset, width)?, record);
        self.push(&wavefront, action)
    }

    /// Stores words.
    ///
    /// Args:
    ///     wavefront: Whose operation it is.
    ///     buffer: To which buffer.
    ///     offset: The first work-item's first byte there.
    ///     values: The words to store: a value of 4 bytes for all of them, or one for each,
    ///         work-item by work-item.
    ///     width: Bytes of each work-item: 4, 8, 12 or 16.
    ///     stride: Bytes from a work-item's to the next one's; as many as it stores if not given.
    ///     lanes: How many work-items take part.
    ///     offsets: Instead of these, the first byte of each work-item.
    ///
    /// Raises:
    ///     SimulationError: If there is no such buffer, it does not have these bytes, or the values
    ///         are not as many.
    #[pyo3(signature = (
        wavefront: "int | tuple[int, int]", buffer: "str", offset: "int" = 0, *,
        values: "int | float | bytes | Sequence[int | float]" = Values::One(Word::Whole(0)), width: "int" = 4,
        stride: "int | None" = None, lanes: "int" = 64, offsets: "Sequence[int | None] | None" = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn store(
        &mut self,
        #[pyo3(from_py_with = given)] wavefront: Place,
        #[pyo3(from_py_with = given)] buffer: &str,
        #[pyo3(from_py_with = given)] offset: i128,
        #[pyo3(from_py_with = given)] values: Values<'_>,
        #[pyo3(from_py_with = given)] width: i128,
        #[pyo3(from_py_with = given)] stride: Option<i128>,
        #[pyo3(from_py_with = given)] lanes: i128,
        #[pyo3(from_py_with = given)] offsets: Offset,
    ) -> PyResult<()> {
        let at = Where { buffer, offset, bytes: width, stride, lanes, offsets };
        let action = Action::Store(self.touched(at)?, values.words()?);
        self.push(&wavefront, action)
    }

    /// Stores what a load of the wavefront brought, once it is there.
    ///
    /// Args:
    ///     wavefront: Whose operation it is.
    ///     record: The name under which its last load keeps the words: one for each, or one for
    ///         all.
    ///     buffer: To which buffer.
    ///     offset: The first work-item's first byte there.
    ///     width: Bytes of each work-item: 4, 8, 12 or 16.
    ///     stride: Bytes from a work-item's to the next one's; as many as it stores if not given.
    ///     lanes: How many work-items take part.
    ///     offsets: Instead of these, the first byte of each work-item.
    ///
    /// Raises:
    ///     SimulationError: If there is no such load or buffer, it does not have these bytes, or
    ///         the words are not as many.
    #[pyo3(signature = (
        wavefront: "int | tuple[int, int]", record: "str", buffer: "str", offset: "int" = 0, *, width: "int" = 4,
        stride: "int | None" = None, lanes: "int" = 64, offsets: "Sequence[int | None] | None" = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn store_loaded(
        &mut self,
        #[pyo3(from_py_with = given)] wavefront: Place,
        #[pyo3(from_py_with = given)] record: String,
        #[pyo3(from_py_with = given)] buffer: &str,
        #[pyo3(from_py_with = given)] offset: i128,
        #[pyo3(from_py_with = given)] width: i128,
        #[pyo3(from_py_with = given)] stride: Option<i128>,
        #[pyo3(from_py_with = given)] lanes: i128,
        #[pyo3(from_py_with = given)] offsets: Offset,
    ) -> PyResult<()> {
        let at = Where { buffer, offset, bytes: width, stride, lanes, offsets };
        let action = Action::StoreLoaded(self.touched(at)?, record);
        self.push(&wavefront, action)
    }

    /// Changes a word of each work-item at once, where all GPUs meet.
    ///
    /// Args:
    ///     wavefront: Whose operation it is.
    ///     operation: `add`, `exchange` or `max`.
    ///     buffer: The buffer's name.
    ///     offset: The first work-item's first byte there.
    ///     values: The operands: one for all, or one for each.
    ///     stride: Bytes from a work-item's word to the next one's.
    ///     lanes: How many work-items take part.
    ///     offsets: Instead of these, the first byte of each work-item.
    ///     record: The name under which `GpuRun.loads` has the words before.
    ///
    /// Raises:
    ///     SimulationError: If there is no such operation or buffer, it does not have these bytes,
    ///         or the values are not as many.
    #[pyo3(signature = (
        wavefront: "int | tuple[int, int]", operation: "str", buffer: "str", offset: "int" = 0, *,
        values: "int | float | bytes | Sequence[int | float]" = Values::One(Word::Whole(1)),
        stride: "int" = 4, lanes: "int" = 1, offsets: "Sequence[int | None] | None" = None, record: "str | None" = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn atomic(
        &mut self,
        #[pyo3(from_py_with = given)] wavefront: Place,
        #[pyo3(from_py_with = given)] operation: &str,
        #[pyo3(from_py_with = given)] buffer: &str,
        #[pyo3(from_py_with = given)] offset: i128,
        #[pyo3(from_py_with = given)] values: Values<'_>,
        #[pyo3(from_py_with = given)] stride: i128,
        #[pyo3(from_py_with = given)] lanes: i128,
        #[pyo3(from_py_with = given)] offsets: Offset,
        #[pyo3(from_py_with = given)] record: Option<String>,
    ) -> PyResult<()> {
        let known = AtomicOperation::from_name(operation).map_err(errors::range)?;
        let at = Where { buffer, offset, bytes: 4, stride: Some(stride), lanes, offsets };
        let action = Action::Atomic(known, self.touched(at)?, values.words()?, record);
        self.push(&wavefront, action)
    }

    /// Loads a word again and again, with a fence between any two loads, until it has a value; a
    /// run without data loads it once.
    ///
    /// Args:
    ///     wavefront: Whose operation it is.
    ///     buffer: From which buffer.
    ///     offset: The word's first byte there.
    ///     value: The value that it waits for.
    ///
    /// Raises:
    ///     SimulationError: If there is no such buffer, or it does not have these bytes.
    #[pyo3(signature = (
        wavefront: "int | tuple[int, int]", buffer: "str", offset: "int" = 0, *, value: "int | float" = Word::Whole(1)
    ))]
    fn spin(
        &mut self,
        #[pyo3(from_py_with = given)] wavefront: Place,
        #[pyo3(from_py_with = given)] buffer: &str,
        #[pyo3(from_py_with = given)] offset: i128,
        #[pyo3(from_py_with = given)] value: Word,
    ) -> PyResult<()> {
        let action = Action::Spin(self.one(buffer, offset, 4)?, value.bits()?);
        self.push(&wavefront, action)
    }

    /// Computes: runs a given number of vector instructions, one after another.
    ///
    /// Args:
    ///     wavefront: Whose operation it is.
    ///     instructions: How many.
    ///
    /// Raises:
    ///     SimulationError: If a number is out of range.
    #[pyo3(signature = (wavefront: "int | tuple[int, int]", instructions: "int"))]
    fn compute(
        &mut self,
        #[pyo3(from_py_with = given)] wavefront: Place,
        #[pyo3(from_py_with = given)] instructions: i128,
    ) -> PyResult<()> {
        let count = whole("instructions", instructions, u32::MAX)?;
        self.push(&wavefront, Action::Compute(count))
    }

    /// Accesses the memory of its work-group a given number of times.
    ///
    /// Args:
    ///     wavefront: Whose operation it is.
    ///     accesses: How many.
    ///
    /// Raises:
    ///     SimulationError: If a number is out of range.
    #[pyo3(signature = (wavefront: "int | tuple[int, int]", accesses: "int"))]
    fn lds(
        &mut self,
        #[pyo3(from_py_with = given)] wavefront: Place,
        #[pyo3(from_py_with = given)] accesses: i128,
    ) -> PyResult<()> {
        let count = whole("accesses", accesses, u32::MAX)?;
        self.push(&wavefront, Action::Lds(count))
    }

    /// Waits for all loads of the wavefront.
    ///
    /// Args:
    ///     wavefront: Whose operation it is.
    ///
    /// Raises:
    ///     SimulationError: If there cannot be such a wavefront.
    #[pyo3(signature = (wavefront: "int | tuple[int, int]"))]
    fn wait(&mut self, #[pyo3(from_py_with = given)] wavefront: Place) -> PyResult<()> {
        self.push(&wavefront, Action::Wait)
    }

    /// Waits until all that the wavefront asked of memory is done, and seen by others.
    ///
    /// Args:
    ///     wavefront: Whose operation it is.
    ///
    /// Raises:
    ///     SimulationError: If there cannot be such a wavefront.
    #[pyo3(signature = (wavefront: "int | tuple[int, int]"))]
    fn fence(&mut self, #[pyo3(from_py_with = given)] wavefront: Place) -> PyResult<()> {
        self.push(&wavefront, Action::Fence)
    }

    /// Waits for the other wavefronts of its work-group, or of the whole launch.
    ///
    /// Args:
    ///     wavefront: Whose operation it is.
    ///     launch: Whether of the whole launch, on all GPUs: an ideal barrier, without traffic.
    ///
    /// Raises:
    ///     SimulationError: If there cannot be such a wavefront.
    #[pyo3(signature = (wavefront: "int | tuple[int, int]", *, launch: "bool" = false))]
    fn barrier(
        &mut self,
        #[pyo3(from_py_with = given)] wavefront: Place,
        #[pyo3(from_py_with = given)] launch: bool,
    ) -> PyResult<()> {
        let scope = if launch { Scope::Launch } else { Scope::Group };
        self.push(&wavefront, Action::Barrier(scope))
    }

    /// Says what a buffer must hold at the end; `GpuRun.correct` then says whether it does.
    ///
    /// Args:
    ///     buffer: Which buffer.
    ///     values: The values that its words must have.
    ///     offset: The first byte of the first.
    ///
    /// Raises:
    ///     SimulationError: If there is no such buffer, or it does not have these bytes.
    #[pyo3(signature = (
        buffer: "str", values: "bytes | Sequence[int | float]", *, offset: "int" = 0
    ))]
    fn expect(
        &mut self,
        #[pyo3(from_py_with = given)] buffer: &str,
        #[pyo3(from_py_with = given)] values: Values<'_>,
        #[pyo3(from_py_with = given)] offset: i128,
    ) -> PyResult<()> {
        let words = match values.words()? {
            Words::Ramp { first, .. } => vec![first],
            Words::Listed(words) => words,
        };
        let buffer = self.kernel.buffer(buffer).map_err(refused)?;
        let (offset, count) = (whole("offset", offset, WIDEST)?, words.len() as u64);
        let expected = Expected { buffer, offset, count, words: Words::Listed(words) };
        Arc::make_mut(&mut self.kernel).expect(expected).map_err(refused)
    }

    /// Says what all loads of a name must bring; `GpuRun.correct` then says whether they did.
    ///
    /// Args:
    ///     record: The loads' name.
    ///     values: The words that they must bring: one for all, or one for each.
    ///
    /// Raises:
    ///     SimulationError: If no load has the name, it is expected already, or the values are not
    ///         as many as its words.
    #[pyo3(signature = (record: "str", values: "int | float | bytes | Sequence[int | float]"))]
    fn expect_loaded(
        &mut self,
        #[pyo3(from_py_with = given)] record: &str,
        #[pyo3(from_py_with = given)] values: Values<'_>,
    ) -> PyResult<()> {
        let words = values.words()?;
        Arc::make_mut(&mut self.kernel).expect_loaded(record, words).map_err(refused)
    }

    fn __repr__(&self) -> String {
        format!("<GpuKernel: {}, {} operations>", self.kernel.name(), self.kernel.operations())
    }
}
