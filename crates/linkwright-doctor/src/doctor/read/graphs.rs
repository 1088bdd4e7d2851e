//! Reads NCCL's dump of its graphs. It takes what each promises, and no more.
//!
//! NCCL writes one element on a line (2.18.5, `src/graph/search.cc` 803 and `src/graph/xml.cc`).

use super::Source;
use crate::diagnostic::InputError;
use crate::doctor::evidence::{Evidence, Graph, Line};

/// How many graphs are kept.
const MOST_GRAPHS: usize = 64;

pub(super) fn read(
    text: &str,
    source: &mut Source<'_>,
    into: &mut Evidence,
) -> Result<(), InputError> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        for part in line.match_indices("<graph ").map(|(at, _)| &line[at..]) {
            let element = part.split('>').next().unwrap_or_default();
            match graph(source.name, number, element) {
                Some(_) if found.len() >= MOST_GRAPHS => source.skip(number, "a graph too many"),
                Some(graph) => found.push(graph),
                None => source.skip(number, "a graph without its pattern, channels or speeds"),
            }
        }
    }
    if found.is_empty() {
        let remedy = "give the file that NCCL_GRAPH_DUMP_FILE names, whole";
        return Err(source.error(1, "a dump without a graph", "", remedy));
    }
    into.graphs.extend(found);
    Ok(())
}

fn graph(file: &str, number: u64, element: &str) -> Option<Graph> {
    let value = |name: &str| {
        let (_, rest) = element.split_once(&format!(" {name}=\""))?;
        rest.split('"').next()
    };
    let whole = |name| value(name)?.parse::<u32>().ok().filter(|it| *it <= 1 << 20);
    let speed = |name| value(name)?.parse().ok().filter(|it: &f64| it.is_finite() && *it >= 0.0);
    let path = |name| value(name).unwrap_or_default().chars().take(8).collect();
    Some(Graph {
        id: whole("id")?,
        pattern: whole("pattern")?,
        channels: whole("nchannels")?,
        inside: speed("speedintra")?,
        between: speed("speedinter")?,
        path_inside: path("typeintra"),
        path_between: path("typeinter"),
        line: Line::new(file, number, element),
    })
}

#[cfg(test)]
mod tests {
    use super::super::read_file;
    use super::*;

    #[test]
    fn a_graph_is_read_with_its_line() {
        let text = "<graphs version=\"1\">\n  <graph id=\"0\" pattern=\"4\" crossnic=\"0\" nchannels=\"12\" \
                    speedintra=\"20\" speedinter=\"20\" latencyinter=\"0\" typeintra=\"NVL\" typeinter=\"PIX\" \
                    samechannels=\"1\">\n    <channel>\n      <gpu dev=\"0\"/>\n    </channel>\n  </graph>\n  \
                    <graph id=\"1\" pattern=\"-4\"/>\n</graphs>\n";
        let mut evidence = Evidence::default();
        read_file("g.xml", text.as_bytes(), &mut evidence).unwrap();
        let [graph] = &evidence.graphs[..] else { panic!() };
        assert_eq!((graph.pattern, graph.channels, graph.line.number), (4, 12, 2));
        assert_eq!((graph.inside, graph.path_between.as_str()), (20.0, "PIX"));
        assert_eq!(evidence.files[0].skipped, 1);
        assert!(
            read_file("g.xml", &b"<graphs version=\"1\">\n</graphs>"[..], &mut evidence).is_err()
        );
    }
}
