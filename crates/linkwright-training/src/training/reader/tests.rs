//! Tests which texts are refused, where, and with which remedy.

use crate::training::Network;

fn refused(text: &str) -> String {
    Network::read("own.toml", text).unwrap_err().to_string()
}

/// Writes a network of the given entries on pictures.
fn of(entries: &str) -> String {
    format!("input = {{ channels = 3, height = 8, width = 8 }}\nlayers = [\n{entries}\n]\n")
}

#[test]
fn every_fault_has_a_place_and_a_remedy() {
    for (text, place, told) in [
        ("layers = [{ kind = 'relu' }]", "1:29", "no input; write input ="),
        ("input = { width = 3 }", "1:22", "no layers; write layers ="),
        ("inptu = { width = 3 }", "1:1", "did you mean `input`?"),
        ("input = { widht = 3 }", "1:11", "did you mean `width`?"),
        ("input = { height = 3 }", "1:9", "this is no shape: `{ height = 3 }`"),
        ("input = 3\nlayers = [1]", "1:9", "`input` is no table"),
        ("input = { width = 0 }", "1:19", "`width` is out of range: `0`; write 1 to 1048576"),
        ("input = { width = 2.5 }", "1:19", "`width` is no whole number"),
        (
            "input = { channels = 1048576, height = 1048576, width = 9 }",
            "1:9",
            "more numbers than is possible",
        ),
        ("dataset = 'minst'", "1:11", "did you mean `mnist`?"),
        ("blocks = 'lama'\ninput = { width = 3 }", "1:10", "did you mean `llama`?"),
        ("input = { width = 3 }\nvariant = []", "2:13", "no variant"),
        (
            "input = { width = 3 }\nlayers = []\n[[variant]]\nname = 'a'",
            "2:10",
            "layers beside variants",
        ),
    ] {
        let error = refused(text);
        assert!(error.starts_with(&format!("own.toml:{place}: ")), "{error}");
        assert!(error.contains(told), "{error}");
    }
}

#[test]
fn layers_that_cannot_be_are_refused_where_they_stand() {
    for (entries, place, told) in [
        ("{ name = 'x' }", "3:1", "a layer without a kind"),
        ("{ kind = 'convolutoin' }", "3:10", "did you mean `convolution`?"),
        ("{ kind = 'relu', width = 3 }", "3:18", "a layer of kind relu has no key of this name"),
        ("{ kind = 'convolution', chanels = 3 }", "3:25", "did you mean `channels`?"),
        ("{ kind = 'convolution', channels = 3 }", "3:1", "needs `kernel`"),
        (
            "{ kind = 'convolution', kernel = 3 }",
            "3:1",
            "a layer of kind convolution needs `channels`",
        ),
        (
            "{ kind = 'convolution', channels = 'x', kernel = 3 }",
            "3:36",
            "only blocks have arguments",
        ),
        (
            "{ kind = 'convolution', channels = 3, kernel = [1, 2, 3] }",
            "3:48",
            "has not two numbers",
        ),
        (
            "{ kind = 'convolution', channels = 3, kernel = 3, padding = 3 }",
            "3:61",
            "padding as wide as the kernel",
        ),
        (
            "{ name = 'c', kind = 'convolution', channels = 3, kernel = 9 }",
            "3:1",
            "layer `c`: its window of 9 x 9 does not fit the 3 x 8 x 8 that `input` gives",
        ),
        (
            "{ name = 'c', kind = 'convolution', channels = 3, kernel = 1, groups = 2 }",
            "3:1",
            "layer `c`: 2 groups divide not both the 3 channels of `input` and its own 3",
        ),
        ("{ kind = 'relu', then = ['rellu'] }", "3:26", "did you mean `relu`?"),
        ("{ kind = 'relu', then = ['add'] }", "3:26", "this cannot stand in `then`"),
        ("{ kind = 'relu', from = 'x' }", "3:25", "nothing before has this name here: `'x'`"),
        ("{ kind = 'add' }", "3:1", "layer `add`: it has 1 input"),
        (
            "{ kind = 'attention', heads = 2 }",
            "3:1",
            "it takes tokens, and `input` gives 3 x 8 x 8",
        ),
        ("{ kind = 'relu', split = 'rows' }", "3:26", "a layer of kind relu is not cut by itself"),
        ("{ kind = 'fully-connected', width = 3, split = 'row' }", "3:48", "did you mean `rows`?"),
        (
            "{ kind = 'fully-connected', width = 3, tied = true }",
            "3:1",
            "no embedding of 3 token numbers in 192 is there to be tied to",
        ),
        (
            "{ kind = 'fully-connected', width = 3, bias = 1 }",
            "3:47",
            "`bias` is neither true nor false",
        ),
        (
            "{ name = 'a', kind = 'relu' },\n{ name = 'a', kind = 'relu' }",
            "4:10",
            "this name is taken",
        ),
        ("{ use = 'x' }", "3:9", "describe it below [block.x]"),
        (
            "{ kind = 'fully-connected', width = 1000000, then = ['dropout'] },\n\
             { kind = 'fully-connected', width = 1000000 },\n\
             { name = 'x', kind = 'concat', from = ['input', 'fully-connected'] }",
            "5:1",
            "layer `x`: its inputs do not meet: `input` gives 3 x 8 x 8, `fully-connected.dropout` gives 1000000",
        ),
    ] {
        let error = refused(&of(entries));
        assert!(error.starts_with(&format!("own.toml:{place}: ")), "{error}");
        assert!(error.contains(told), "{error}");
    }
}

#[test]
fn shapes_that_do_not_meet_name_both_layers_and_both_shapes() {
    let error =
        refused(&of("{ name = 'left', kind = 'convolution', channels = 4, kernel = 3 },\n\
         { name = 'right', kind = 'convolution', from = 'input', channels = 4, kernel = 1 },\n\
         { name = 'sum', kind = 'add', from = ['left', 'right'] }"));
    assert_eq!(
        error,
        "own.toml:5:1: layer `sum`: its inputs do not meet: `left` gives 4 x 6 x 6, `right` gives \
         4 x 8 x 8: `{ name = 'sum', kind = 'add', from = ['left', 'right'] }`; give both the same shape"
    );
}

#[test]
fn blocks_are_checked_where_they_are_used() {
    let block = "[block.b]\narguments = ['channels']\n\
                 layers = [{ kind = 'convolution', channels = 'chanels', kernel = 3 }]\n";
    for (entries, place, told) in [
        ("{ use = 'c', channels = 3 }", "3:9", "there is no block of this name: `'c'`; use b"),
        ("{ use = 'b' }", "3:1", "block `b` needs `channels`"),
        ("{ use = 'b', chanel = 3 }", "3:14", "did you mean `channels`?"),
        ("{ use = 'b', channels = 3 }", "7:46", "did you mean `channels`?"),
        ("{ use = 'b', channels = 3, repeat = 0 }", "3:37", "`repeat` is out of range"),
    ] {
        let error = refused(&(of(entries) + block));
        assert!(error.starts_with(&format!("own.toml:{place}: ")), "{error}");
        assert!(error.contains(told), "{error}");
    }
    let within = refused(&(of("{ use = 'a' }") + "[block.a]\nlayers = [{ use = 'a' }]\n"));
    assert!(within.contains("blocks use one another more than 8 deep"), "{within}");
    let idle = "[block.a]\nlayers = [{ use = 'b', repeat = 10000 }]\n\
                [block.b]\nlayers = [{ kind = 'relu' }]\n";
    let many = refused(&(of("{ use = 'a', repeat = 10000 }") + idle));
    assert!(many.contains("more than 10000 times"), "{many}");
    let named = "[block.a]\narguments = ['use']\nlayers = [{ kind = 'relu' }]\n";
    let named = refused(&(of("{ use = 'a' }") + named));
    assert!(named.contains("an argument cannot have this name"), "{named}");
}

/// A shared block's own text is no place where its user could mend anything.
#[test]
fn faults_within_shared_blocks_are_told_where_those_are_used() {
    let entries = "{ use = 'llama-decoder', width = 3, projected = 4, heads = 1, inner = 5 }";
    let error = refused(&format!("blocks = ['llama']\n{}", of(entries)));
    assert!(
        error.starts_with("own.toml:4:1: layer `llama-decoder.attention`: it takes tokens"),
        "{error}"
    );
}

#[test]
fn the_example_of_the_reference_is_read() {
    let page = include_str!("../../../../../docs/reference/formats.md");
    let section = &page[page.find("## Network\n").expect("the section is there")..];
    let start = section.find("```toml\n").expect("the section has an example") + "```toml\n".len();
    let length = section[start..].find("```").expect("the example ends");
    let network = Network::read("example.toml", &section[start..start + length]).unwrap();
    assert_eq!((network.name.as_str(), network.layers.len()), ("small", 13));
    assert_eq!(network.layers.last().map(|layer| layer.unit), Some(3));
}

/// Kinds, their keys and shared blocks stand in the reference as they are here.
#[test]
fn the_reference_has_every_kind_and_key() {
    let page = include_str!("../../../../../docs/reference/formats.md");
    for (kind, keys) in super::kinds::KINDS {
        let row =
            page.lines().find(|line| line.starts_with("| ") && line.contains(&format!("`{kind}`")));
        let row = row.unwrap_or_else(|| panic!("no row for {kind}"));
        assert!(keys.iter().all(|key| row.contains(&format!("`{key}`"))), "{kind}: {row}");
    }
    for (name, ..) in super::SHARED {
        assert!(page.contains(&format!("`{name}`")), "{name}");
    }
}
