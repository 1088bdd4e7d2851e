//! Holds counts of parameters to published ones, and configurations to refusals.

mod published;

use super::{LanguageModel, Norm};
use crate::training::network::Network;

fn parameters(name: &str) -> u64 {
    LanguageModel::find(name).unwrap().parameters()
}

#[test]
fn parameters_are_those_that_were_published() {
    // The counts of the released weights, which model cards round.
    for (name, count) in [
        ("llama-2-7b", 6_738_415_616),
        ("llama-2-70b", 68_976_648_192),
        ("llama-3.1-8b", 8_030_261_248),
        ("llama-3.1-70b", 70_553_706_496),
        ("llama-3.1-405b", 405_853_388_800),
        ("llama-3.2-1b", 1_235_814_400),
        ("llama-3.2-3b", 3_212_749_824),
        ("mistral-7b", 7_241_732_096),
        ("mixtral-8x7b", 46_702_792_704),
        ("mixtral-8x22b", 140_630_071_296),
        ("qwen2.5-7b", 7_615_616_512),
        ("qwen2.5-72b", 72_706_203_648),
        ("qwen3-8b", 8_190_735_360),
        ("qwen3-32b", 32_762_123_264),
        ("qwen3-30b-a3b", 30_532_122_624),
        ("qwen3-235b-a22b", 235_093_634_560),
        ("gpt-oss-20b", 20_914_757_184),
        ("gpt-oss-120b", 116_829_156_672),
        ("deepseek-v2-lite", 15_706_484_224),
        ("deepseek-v2", 235_741_434_880),
        ("deepseek-v3", 671_026_419_200),
        ("mpt-125m", 125_311_488),
        ("mpt-1b", 1_315_950_592),
        ("mpt-30b", 29_975_214_080),
        ("mpt-70b", 64_862_437_376),
    ] {
        assert_eq!(parameters(name), count, "{name}");
    }
    let longer = LanguageModel::find("mpt-30b").unwrap().with_tokens(8192);
    assert_eq!(longer.parameters(), 30_019_254_272);
}

#[test]
fn a_token_meets_only_the_experts_that_it_goes_to() {
    let active = |name: &str| LanguageModel::find(name).unwrap().active_parameters();
    assert_eq!(active("mixtral-8x7b"), 12_879_925_248);
    assert_eq!(active("llama-3.1-8b"), parameters("llama-3.1-8b"));
    // The report says 37 billion.
    assert_eq!(active("deepseek-v3") / 1_000_000_000, 37);
}

#[test]
fn layers_of_a_step_have_the_same_parameters() {
    for model in LanguageModel::all() {
        let Ok(network) = model.network() else { continue };
        let left = if model.attention.head_norms { 2 * model.attention.head } else { 0 };
        assert_eq!(network.parameters() + left * model.layers(), model.parameters());
    }
    let own = LanguageModel::find("llama-3.1-8b").unwrap().network().unwrap();
    let written = Network::find("llama3-8b").unwrap();
    assert_eq!(own.multiply_adds(), written.multiply_adds());
    assert_eq!(own.saved(), written.saved());
}

const SMALL: &str = r#"{
    "model_type": "llama", "hidden_size": 64, "intermediate_size": 256, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 1000,
    "max_position_embeddings": 131072, "rope_theta": 500000.0, "torch_dtype": "bfloat16",
    "rope_scaling": { "factor": 8.0, "original_max_position_embeddings": 2048 }
}"#;

#[test]
fn a_configuration_is_read_by_its_fields() {
    let model = LanguageModel::read("folder/config.json", SMALL).unwrap();
    assert_eq!((model.name.as_str(), model.hidden, model.layers()), ("config.json", 64, 2));
    assert_eq!((model.tokens, model.norm), (2048, Norm::RootMeanSquare));
    let attention = 2 * 64 * 64 + 2 * 64 * 32;
    let block = attention + 3 * 64 * 256 + 2 * 64;
    assert_eq!(model.parameters(), 2 * block + 2 * 1000 * 64 + 64);
}

#[test]
fn what_is_wrong_is_told_by_its_field() {
    let refused = |from: &str, to: &str| {
        let text = SMALL.replace(from, to);
        assert_ne!(text, SMALL);
        LanguageModel::read("config.json", &text).unwrap_err().to_string()
    };
    for (from, to, told) in [
        (
            "\"num_hidden_layers\": 2",
            "\"num_hidden_layers\": -2",
            "`num_hidden_layers`: impossible value: `-2`; write a whole number from 1 to 4096",
        ),
        ("\"hidden_size\": 64", "\"hidden_size\": 1e3", "`hidden_size`: impossible value"),
        ("\"rope_theta\"", "\"rope_tetha\"", "`rope_tetha`: unknown field"),
        (
            "\"llama\"",
            "\"bert\"",
            "`model_type`: another family: `\"bert\"`; take one that is read; use one of llama, ",
        ),
        ("\"vocab_size\": 1000,", "", "there is no `vocab_size`; add it"),
        (
            "\"num_key_value_heads\": 2",
            "\"num_key_value_heads\": 3",
            "`num_key_value_heads`: impossible value",
        ),
        (
            "\"model_type\": \"llama\"",
            "\"model_type\": \"mixtral\", \"num_local_experts\": 1000000000000",
            "`num_local_experts`: impossible value",
        ),
        ("{\n", "[", "this is no JSON"),
    ] {
        let error = refused(from, to);
        assert!(error.contains(told), "{error}");
        assert!(!error.contains('\n'));
    }
    let error = refused("\"vocab_size\"", "\"vocab_sise\"");
    assert!(error.starts_with("config.json:3:"), "{error}");
    assert!(error.contains("did you mean `vocab_size`?"), "{error}");
}
