//! Gives Python `linkwright.Model`: language models as Hugging Face configures them.

use std::sync::Arc;

use linkwright::diagnostic::Named as _;
use linkwright::table::Table as Columns;
use linkwright::training::{LanguageModel as Core, Mlp};
use pyo3::prelude::*;

use crate::argument::given;
use crate::errors;
use crate::number::whole;
use crate::table::Table;
use crate::training::NeuralNetwork;

/// Keeps sequences to a length whose sums stay within their types.
const MOST_TOKENS: u64 = 1 << 28;

/// The public models that Linkwright has: name, where its numbers were published, trained numbers.
#[pyfunction]
pub fn models() -> Vec<(String, String, u64)> {
    let of = |it: &Core| (it.name.clone(), it.source.clone(), it.parameters());
    Core::all().iter().map(of).collect()
}

/// Holds a language model, as the numbers that memory and time follow from.
#[pyclass(frozen, eq, module = "linkwright.training")]
#[derive(Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Model(pub Arc<Core>);

#[pymethods]
impl Model {
    /// The public model of a name of `models`; upper and lower case are one, and hyphens may be left
    /// out.
    ///
    /// Raises:
    ///     SimulationError: If there is none; the message names the nearest.
    #[staticmethod]
    #[pyo3(signature = (name: "str"))]
    fn find(#[pyo3(from_py_with = given)] name: &str) -> PyResult<Self> {
        let found = Core::find(name).map_err(errors::training)?;
        Ok(Self(Arc::new(found.clone())))
    }

    /// Reads a model from a Hugging Face configuration, the text of its `config.json`; `file` names
    /// the text in errors.
    ///
    /// Raises:
    ///     InputError: If the text is no configuration that is read. The message names the field.
    #[staticmethod]
    #[pyo3(signature = (text: "str", file: "str" = "<text>"))]
    fn from_text(
        #[pyo3(from_py_with = given)] text: &str,
        #[pyo3(from_py_with = given)] file: &str,
    ) -> PyResult<Self> {
        let read = Core::read(file, text).map_err(errors::input)?;
        Ok(Self(Arc::new(read)))
    }

    /// Says what it is called.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// Where its numbers were published; empty where it is from a file.
    #[getter]
    fn source(&self) -> &str {
        &self.0.source
    }

    /// The family whose fields its configuration has, such as `Llama`.
    #[getter]
    fn family(&self) -> &'static str {
        self.0.family.name()
    }

    /// Counts trained numbers.
    #[getter]
    fn parameters(&self) -> u64 {
        self.0.parameters()
    }

    /// Trained numbers that one token is multiplied with: of experts only those that it goes to.
    #[getter]
    fn active_parameters(&self) -> u64 {
        self.0.active_parameters()
    }

    /// Numbers of a token's vector between blocks.
    #[getter]
    fn hidden(&self) -> u64 {
        self.0.hidden
    }

    /// Blocks of attention and a perceptron.
    #[getter]
    fn layers(&self) -> u64 {
        self.0.layers()
    }

    /// Heads of queries, and those of keys and values.
    #[getter]
    fn heads(&self) -> (u64, u64) {
        (self.0.attention.heads, self.0.attention.key_value_heads)
    }

    /// Counts token numbers.
    #[getter]
    fn vocabulary(&self) -> u64 {
        self.0.vocabulary
    }

    /// Counts tokens of a sequence.
    #[getter]
    fn tokens(&self) -> u64 {
        self.0.tokens
    }

    /// Gives the same model on sequences of another length.
    #[pyo3(signature = (tokens: "int"))]
    fn with_tokens(&self, #[pyo3(from_py_with = given)] tokens: i128) -> PyResult<Self> {
        let tokens = whole("tokens of a sequence", tokens, MOST_TOKENS)?.max(1);
        Ok(Self(Arc::new(self.0.with_tokens(tokens))))
    }

    /// One row for blocks that are alike in a row.
    ///
    /// Columns: blocks, kind (`dense` or `experts`), inner (numbers within a perceptron or an expert).
    /// Then experts, top (experts that a token goes to), shared (numbers within those of every token),
    /// parameters (of one block).
    fn blocks(&self) -> PyResult<Table> {
        let blocks = &self.0.blocks;
        let experts = |of: fn(&linkwright::training::Experts) -> u64| {
            blocks.iter().map(|it| it.mlp.experts().as_ref().map_or(0, of)).collect::<Vec<u64>>()
        };
        let kinds = blocks.iter().map(|it| match it.mlp {
            Mlp::Dense { .. } => "dense".to_owned(),
            Mlp::Experts(_) => "experts".to_owned(),
        });
        let inner = blocks.iter().map(|it| match it.mlp {
            Mlp::Dense { inner, .. } => inner,
            Mlp::Experts(experts) => experts.inner,
        });
        let parameters = blocks.iter().map(|it| self.0.block(&it.mlp));
        let columns = Columns::new()
            .with("blocks", "", blocks.iter().map(|it| it.count).collect::<Vec<_>>())
            .with("kind", "", kinds.collect::<Vec<_>>())
            .with("inner", "", inner.collect::<Vec<_>>())
            .with("experts", "", experts(|it| it.count))
            .with("top", "", experts(|it| it.top))
            .with("shared", "", experts(|it| it.shared))
            .with("parameters", "", parameters.collect::<Vec<_>>());
        Table::new(columns)
    }

    /// The layers that a step plays.
    ///
    /// Raises:
    ///     SimulationError: If it has experts or latent attention, for which there are no layers yet.
    fn network(&self) -> PyResult<NeuralNetwork> {
        let network = self.0.network().map_err(errors::training)?;
        Ok(NeuralNetwork(Arc::new(network)))
    }

    fn __repr__(&self) -> String {
        let Core { name, .. } = &*self.0;
        format!("<Model: {name}, {} layers, {} parameters>", self.0.layers(), self.0.parameters())
    }
}
