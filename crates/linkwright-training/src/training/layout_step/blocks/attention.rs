//! Adds the pieces of a block's attention.

use super::Pieces;
use crate::program::CollectiveKind;
use crate::training::family::LayerFamily;
use crate::training::layout::RankGroup;
use crate::training::layout_step::execution::ContextExchange;
use crate::training::layout_step::pieces::{GroupCall, Hidden, Piece};
use crate::training::layout_step::works::{Heads, TokenWork, each, norm, product};
use crate::training::model::Latent;
use crate::units::Bytes;

impl Pieces<'_> {
    pub(super) fn attention(&mut self) {
        let of = self.training;
        let (hidden, parts) = (of.model.hidden, of.layout.tp);
        let attention = of.model.attention;
        let key_value_heads = match attention.latent {
            Some(_) => attention.heads.div_ceil(parts),
            None => of.key_value_heads(),
        };
        let heads = Heads {
            heads: attention.heads.div_ceil(parts),
            key_value_heads,
            head: attention.head,
            value_head: attention.value_head,
        };
        self.work("norm1", norm(of.model.norm, hidden), of.own_tokens());
        match attention.latent {
            None => {
                self.enter("qkv");
                let biases = if attention.bias { heads.joined() } else { 0 };
                self.cut("qkv", hidden, heads.joined(), biases);
            }
            Some(latent) => self.latent(&latent, heads),
        }
        self.attended(heads);
        let biases = if attention.output_bias { hidden } else { 0 };
        self.cut("projection", heads.written(), hidden, biases);
        self.leave("projection");
        self.sum("sum1");
        self.work("norm2", norm(of.model.norm, hidden), of.own_tokens());
    }

    /// Queries, keys and values of short vectors, which every GPU makes whole.
    fn latent(&mut self, latent: &Latent, heads: Heads) {
        let of = self.training;
        let (hidden, own, tokens) = (of.model.hidden, of.own_tokens(), of.tokens());
        let queries = heads.heads * heads.head;
        if let Some(short) = latent.query {
            self.work("q-down", product(hidden, short, 0), own);
            self.adapter("q-down", hidden, short, own);
            self.work("q-norm", norm(of.model.norm, short), own);
        }
        let joined = latent.key_value + latent.rotary;
        self.work("kv-down", product(hidden, joined, 0), own);
        self.adapter("kv-down", hidden, joined, own);
        self.work("kv-norm", norm(of.model.norm, latent.key_value), own);
        self.enter("q-up");
        self.cut("q-up", latent.query.unwrap_or(hidden), queries, 0);
        let unturned = heads.head - latent.rotary;
        let up = heads.heads * (unturned + heads.value_head);
        self.cut("kv-up", latent.key_value, up, 0);
        // Turned and unturned parts of queries and keys are put behind one another.
        let moved = 2 * heads.heads * heads.head;
        self.work("rotary", each(LayerFamily::Join, moved, moved, 0), tokens);
    }

    /// Adds attention, with the exchanges between parts of the same sequences.
    fn attended(&mut self, heads: Heads) {
        let of = self.training;
        let parts = of.layout.cp;
        let work = TokenWork {
            attention: Some((heads.shape(of.model.tokens), of.model.attention.triton)),
            ..TokenWork::new("attention", heads.work(of.model.tokens), of.tokens())
        };
        let call = |kind, size| GroupCall { group: RankGroup::Context, kind, size };
        let now = |call| Some((call, Hidden::Nothing));
        let keys = self.bytes(of.tokens(), heads.keys_and_values());
        match self.execution.context {
            _ if parts < 2 => self.found.push(Piece::Work(work)),
            ContextExchange::Ring => {
                let sizes = [keys, Bytes(2 * keys.0)];
                self.found.push(Piece::Ring { work, turns: parts, sizes });
            }
            ContextExchange::AllGather => {
                let back = call(CollectiveKind::ReduceScatter, Bytes(keys.0 * parts));
                let forward = now(call(CollectiveKind::AllGather, keys));
                self.meeting("attention", forward, now(back));
                self.found.push(Piece::Work(work));
            }
            ContextExchange::AllToAll => {
                let each = |size: Bytes| {
                    now(call(CollectiveKind::AllToAll, Bytes(size.0.div_ceil(parts))))
                };
                let joined = each(self.bytes(of.tokens(), heads.joined()));
                let written = each(self.bytes(of.tokens(), heads.written()));
                self.meeting("attention", joined, joined);
                self.found.push(Piece::Work(work));
                self.meeting("attention", written, written);
            }
        }
    }
}
