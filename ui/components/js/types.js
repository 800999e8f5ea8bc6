// The shapes of everything that passes between modules, for readers and for `tsc`. No code.

// --- the table of samplers, as ui/texts/settings.py serves it ----------------------------------

/** @typedef {'edit' | 'scale' | 'cut'} Kind edit: moves or removes single tokens; scale: divides all scores;
 *   cut: removes by rank or probability */

/**
 * @typedef {object} NumberField one number of a sampler
 * @property {string} name
 * @property {string} label
 * @property {number} low the slider's lower end
 * @property {number} high the slider's upper end
 * @property {number} step the slider's step
 * @property {number} usual the initial value
 * @property {boolean} whole whether the number is whole
 * @property {Record<string, string>} words values that read better as a word: `{"-1": "all"}`
 */

/**
 * @typedef {object} Sampler
 * @property {string} name as in settings
 * @property {string} label as a heading: "Top-p"
 * @property {string} in_text inside a sentence: "top-p", "DRY"
 * @property {Kind} kind
 * @property {boolean} removes_only an edit that does nothing except remove tokens
 * @property {string} group the sampler's group in the chooser
 * @property {'number' | 'numbers' | 'biases' | 'sequences' | 'source'} value shape of its setting, which also chooses
 *   the editor
 * @property {number | null} off the value that switches it off; null if the sampler has several numbers
 * @property {string} about
 * @property {string} formula
 * @property {{text: string, url: string} | null} paper
 * @property {string} idle the sentence shown while it is off
 * @property {NumberField[]} numbers
 * @property {[string, string] | null} pair two of its numbers; the first never exceeds the second
 * @property {'rank' | 'mass' | 'threshold' | 'window' | 'edit' | 'scale'} picture the small picture that shows its rule
 * @property {Record<string, string>} says by case: a template for one or two sentences on the sampler's effect
 * @property {Record<string, string>} note by case: a template of a few words for the sampler's line; may be empty
 */

/**
 * @typedef {object} Table everything known about the samplers, served once
 * @property {Sampler[]} samplers in default order
 * @property {{name: string, label: string}[]} groups in the order of the chooser
 * @property {string[]} order the default order
 * @property {string[]} first samplers on a new page
 * @property {{name: string, settings: Settings}[]} presets
 * @property {Record<string, string>} [points] explanations of the loop's points that are not samplers
 */

// --- settings -----------------------------------------------------------------------------------

/** @typedef {Record<string, number | string | number[] | number[][] | null>} Fields a sampler's numbers by
 *   name; its biases as `{bias: [[id, number], ...]}`, its words as `{sequences: [[id, ...], ...]}`, a constraint as
 *   `{language, source}` */

/** @typedef {number | Fields | null} Value of a sampler; null means off if the sampler has several numbers */

/**
 * @typedef {{order?: string[], seed?: number} & {[name: string]: Value | string[] | undefined}} Settings `order` names
 *   the samplers that have a place on the page, in the order in which they apply; each has one value. A sampler at its
 *   off value keeps its place. A sampler that `order` does not name is off
 */

/** @typedef {{name: string, value: number | Fields, kind?: Kind}} Link one sampler of a chain, with its value */

/** @typedef {Link[]} Chain the active samplers, in the order in which they apply */

/** @typedef {{max_tokens: number, stop_strings: string[], thinking_budget?: number | null}} Limits the stop rules */

// --- a row of scores ----------------------------------------------------------------------------

/**
 * @typedef {object} PackedRow one row of raw logits as runs of equal scores, see rows.py
 * @property {number} vocab number of tokens that the model scores
 * @property {number} possible number of tokens above -inf
 * @property {boolean} exact false if the tail came in bins
 * @property {Float32Array} values scores of the runs, descending
 * @property {Uint32Array} counts number of tokens in each run
 * @property {Uint16Array | Uint32Array} ids token ids in rank order, as far as they were sent
 */

/**
 * @typedef {object} Outcome one sampler's effect on the row, computed by the server's engine, see
 *   ui/components/outcomes.py
 * @property {string} name
 * @property {number | Fields} value the value used in the computation
 * @property {number} survivors tokens left after the sampler
 * @property {number} mass_removed
 * @property {number} entropy_bits after the sampler
 * @property {number} highest score after the sampler
 * @property {number} mass sum of exp(score - highest) over the tokens left
 * @property {Record<string, number | null>} figures see `SamplerView`; null if not finite
 * @property {string} case which of the sampler's sentences applies
 * @property {'scaled' | 'window' | 'mask' | 'moved' | 'row'} kept encoding of the remaining tokens. scaled: all tokens;
 *   window: a run of ranks, same scores; mask: any ranks, same scores; moved: new scores for a few tokens; row: new
 *   scores for all tokens
 * @property {number} [temperature] scaled: the divisor of the scores
 * @property {number} [first] window: number of removed tokens ahead of the remaining ones in the previous ranking
 * @property {Uint8Array} [mask] mask: one bit for each token of the previous ranking, in rank order, lowest bit first
 * @property {[number, number, number | null, number | null][]} [moved] id, raw rank, raw logit and new score (null:
 *   removed) of each moved token; for `row`, of the leading ones
 * @property {[number, number, number | null][]} [leading] id, score before and score after of the leading moved tokens
 * @property {{values: Float32Array, counts: Uint32Array}} [runs] row: the new scores, descending, and the number of
 *   tokens with each
 * @property {Uint32Array} [order] row: the raw ranks of these tokens
 */

/**
 * @typedef {object} ShapedByEngine the server engine's results for the row, see ui/components/outcomes.py
 * @property {Settings} settings the chain
 * @property {Outcome[]} outcomes the effect of each sampler, up to the one that removed the last token
 * @property {{u: number, rank: number, id: number, probability: number, from: number, to: number} | null} draw the
 *   drawn token's rank after the last sampler, and its interval of the cumulative distribution
 * @property {DefaultOrder | null} default_order
 */

/**
 * @typedef {object} StepOnScreen facts about the row's step
 * @property {number} index
 * @property {boolean} is_pending whether the step's token is still to be drawn
 * @property {number | null} chosen the step's token; null while it is pending
 * @property {[rank: number, logit: number | null] | null} [standing] that token's place in the row; 0 and null at -inf;
 *   null if there is no token yet or the model does not report it
 * @property {boolean} forced whether the token was chosen by hand
 * @property {number | null} u the uniform number for the draw, past or to come; null if nothing was drawn
 * @property {number | null} xtc_u the step's second uniform number
 * @property {Settings | null} recorded_settings the step's settings, of active samplers only; null while pending
 * @property {number | null} recorded_scale the step's guidance scale
 */

/**
 * @typedef {object} RowExtras
 * @property {Map<number, string>} labels labels sent with the row, by token id
 * @property {number} [total] for a row whose tail is in bins: sum of exp(score - highest score) over all tokens
 * @property {number} [entropy_bits] for such a row
 * @property {ShapedByEngine | null} [shaped] the engine's results for the last chain it received
 * @property {number | null} [scale] guidance scale of the scores
 * @property {[id: number, ...standings: [rank: number, prob: number][]][]} [compared] for a whole row under guidance:
 *   the leading tokens' standings with guidance, after the prompt and after the negative prompt; rank 0 at -inf
 * @property {boolean} [light] whether only the data on screen was sent; the rest can be requested
 * @property {ListedScores | null} [listed] if the model listed only its likeliest tokens
 */

/** @typedef {{count: number, rest: number, lowest: number}} ListedScores the number of listed tokens, the probability
 *   of all others, and the lowest listed log-probability */

/** @typedef {PackedRow & StepOnScreen & RowExtras} Row the scores of one step, and facts about the step */

/** @typedef {{id: number, label?: string, raw_rank?: number, logit?: number | null}} Token a token as a search finds
 *   it; without a finite logit it is at -inf */

/** @typedef {{id: number, label: string, raw_rank: number | null, logit: number | null, unlisted?: boolean,
 *   probability?: number | null}} FoundToken a search result; null if there are no scores or the token is at -inf.
 *   `unlisted` if the model did not list it: then its probability, or null if that is not known */

// --- the state of the step page -----------------------------------------------------------------

/**
 * @typedef {object} PromptToken
 * @property {number} id
 * @property {string} label
 * @property {boolean} special
 * @property {string} [text] its part of the plain text
 * @property {number} [folded] in the strip of a long prompt: the number of tokens that it represents
 * @property {number} [place] in the strip of a long prompt: its place in the prompt
 */

/**
 * @typedef {object} StepFigures the record of a completed step
 * @property {string} text the step's part of the plain text
 * @property {boolean} partial whether the token is part of a character
 * @property {boolean} forced whether the token was chosen by hand
 * @property {number} probability in the draw
 * @property {number} model_probability at temperature 1, with nothing penalised or removed
 * @property {number} rank by raw logits
 * @property {number | null} u null if nothing was drawn
 * @property {[string, string, number][]} stage_states sampler, name and value of each state that a sampler kept or drew
 * @property {number} entropy in bits, after temperature and before the cuts
 * @property {number} model_entropy of the model's own distribution
 * @property {number} survivors
 * @property {number} forward_ms
 * @property {number | null} network_ms of a model on a server: the share of `forward_ms` that is not the server's own
 * @property {number} shape_ms
 * @property {number} draw_ms
 * @property {number} total_ms
 * @property {boolean} is_prefill
 * @property {boolean} reused whether no forward pass was needed
 * @property {number | null} negative_forward_ms under guidance: the negative prompt's share
 * @property {number | null} negative_cache_bytes under guidance: the negative prompt's share of the cache
 * @property {number | null} guidance_scale
 * @property {number} positions in the cache
 * @property {number | null} cache_bytes bytes in use; null if the model does not report them
 * @property {number | null} cache_bytes_held reserved bytes
 * @property {number | null} formula_bytes the formula's prediction
 */

/** @typedef {PromptToken & StepFigures} Step one step of the text on screen */

/**
 * @typedef {object} Model
 * @property {string} name
 * @property {string} source
 * @property {number} vocab_size
 * @property {number | null} listed how many tokens have individual scores in a step; null for all
 * @property {boolean} gives_rows whether a server gives the scores of all tokens in a single step on request
 * @property {boolean} has_logits whether the scores are logits; otherwise log-probabilities
 * @property {number | null} context_length
 * @property {number[]} eos_ids
 * @property {number[]} line_break_ids
 * @property {boolean} has_chat_template
 * @property {{name: string, settings: Settings} | null} [recommended] the settings that came with the model, a preset
 */

/**
 * @typedef {object} SearchedStep one step of contrastive search
 * @property {number} index
 * @property {{token_id: number, label: string, probability: number, penalty: number, nearest: number,
 *   nearest_label: string, score: number}[]} candidates
 * @property {number} chosen place among the candidates
 * @property {number} penalty_alpha
 * @property {number} passes
 * @property {number} prefill_ms
 * @property {number} forward_ms
 * @property {number} score_ms
 */

/** @typedef {{index: number, chosen: number, settings: Settings, rows: [string, number, number, number, number,
 *   number][]}} RecordedStep one step of a read-only text. A row has label, id, rank, score, the model's probability
 *   and the probability in the draw; a search step has no rows */

/** @typedef {{number: number, parent: number | null, departs_at: number, length: number, text: string,
 *   current: boolean}} Branch */

/** @typedef {{name: string, reason: string, has_effect: boolean}} Remark a note on a sampler in its chain; a sampler
 *   without effect does not change the draw */

/** @typedef {'full' | 'few'} Digits number of digits in figures; few in stage view */

/**
 * @typedef {object} Scene the input of a view; any page with these values can draw the parts
 * @property {Table} table
 * @property {Row | null} row
 * @property {Settings} settings on the sliders
 * @property {boolean} [is_what_if] whether a recorded step is shown with `settings`; otherwise with its own settings
 * @property {number | null} [point] null: the whole chain; or an index into `View.points`
 * @property {number} row_count
 * @property {{id: number}[]} prompt_tokens
 * @property {(Step | {id: number, label?: string})[]} steps
 * @property {{eos_ids: number[], line_break_ids: number[]} | null} [model]
 * @property {boolean} [manual] whether the next token is proposed and waits for a person
 * @property {number} [guidance_scale] on the slider
 * @property {{settings: Settings, list: Remark[]} | null} [remarks] the engine's remarks, and the settings that they
 *   describe
 */

/**
 * @typedef {'probability' | 'model_probability' | 'entropy' | 'model_entropy'} Colouring the quantity that token
 *   colours show
 */

/** @typedef {'distribution' | 'ranks' | 'draw' | 'guidance'} PictureName */

/**
 * @typedef {object} Example a prompt worth trying
 * @property {string} name
 * @property {string} prompt
 * @property {string} look_at a sentence on what to look at
 * @property {Settings} settings
 * @property {string | null} negative_prompt
 * @property {number} guidance_scale
 * @property {{top_k: number, penalty_alpha: number} | null} strategy
 * @property {boolean} chat whether the prompt goes through the chat template
 * @property {ChatMessage[]} before
 * @property {number} steps tokens to generate at once
 */

/**
 * @typedef {{settings: [number, Settings][], limits: Limits, guidance_scale: number, steps: number, forced: [number, number][],
 *   prompt: string, chat: boolean, before: ChatMessage[], negative_prompt: string | null,
 *   strategy: {top_k: number, penalty_alpha: number} | null}} Linked the contents of a link
 */

/** @typedef {{role: string, content: string}} ChatMessage one message of a conversation */

/** @typedef {{number: number, prompt: string, tokens: number, model: string, when: string}} EarlierText */

/**
 * @typedef {object} Draft the start of the next text, as entered in the fields
 * @property {string} prompt
 * @property {boolean} chat
 * @property {ChatMessage[]} before messages before the prompt; only in chat
 * @property {string | null} negative_prompt null: without guidance
 * @property {boolean} is_search whether contrastive search is used; otherwise sampling
 * @property {number} top_k candidates of the search
 * @property {number} penalty_alpha of the search; takes effect at the next step
 */

/**
 * @typedef {object} StateOnly the rest of the step page's state; apps/step/ changes it, parts only read it
 * @property {string} visit names this tab's visit
 * @property {string} run names the text; a different value means a new text
 * @property {number} branch
 * @property {Model | null} model null until the first message
 * @property {string} prompt
 * @property {boolean} chat
 * @property {ChatMessage[]} before messages before the prompt; only in chat
 * @property {number} from_cache tokens of the prompt that were in the cache of the turn before
 * @property {PromptToken[]} prompt_tokens
 * @property {string | null} negative_prompt null: the text began without guidance
 * @property {PromptToken[] | null} negative_tokens null: not read, as at scale 1
 * @property {number} guidance_scale on the slider
 * @property {{top_k: number, penalty_alpha: number} | null} strategy contrastive search; null: sampling
 * @property {SearchedStep | null} searched the search step on screen
 * @property {string} read_only a sentence on why the text is only read from a trace; '' with a model
 * @property {RecordedStep | null} recorded the step on screen of a read-only text
 * @property {Draft} draft
 * @property {boolean} starting whether Start was pressed and its text has not arrived
 * @property {boolean} drafted whether Start would begin a different text from the one on screen
 * @property {{list: Example[], note: string}} examples the examples, and a remark on them
 * @property {string} example what to look at in the example on screen; '' for any other text
 * @property {EarlierText[]} earlier texts that can be reopened
 * @property {Record<string, Fields>} stage_defaults fields of an added sampler that depend on the tokenizer
 * @property {Step[]} steps of the current branch
 * @property {Branch[]} branches empty if there is only one
 * @property {number} index the inspected step; steps.length: the next one
 * @property {Map<number, string>} labels the vocabulary's labels received so far
 * @property {string} row_key identifies the row; sent back so that no row comes twice
 * @property {View | null} view the content on screen, made from the row; null without a row
 * @property {boolean} greedy whether the most likely token is simply taken; known even while the view is covered
 * @property {Limits} limits
 * @property {Settings} first_settings the server's settings for a text that is new to this page
 * @property {Limits} first_limits
 * @property {'paused' | 'playing' | 'running'} mode
 * @property {boolean} manual
 * @property {boolean} slow whether slow motion is on
 * @property {number} speed tokens per second; 0: as fast as possible
 * @property {number | null} point
 * @property {number} row_count rows of the table; 0: as many as fit
 * @property {number} fitted_rows number of rows that fit
 * @property {string[]} columns the table's extra columns
 * @property {Colouring} colouring
 * @property {boolean} keys whether single keys are shortcuts
 * @property {boolean} stage whether stage view is on: only text and candidates, in large type
 * @property {string} stage_slider the sampler that stage view's slider sets
 * @property {boolean} hiding whether each step's candidates are covered until they are revealed
 * @property {string} revealed the place whose candidates are revealed
 * @property {boolean} covered whether the candidates on screen are covered
 * @property {Digits} digits
 * @property {Tour} tour a newcomer's progress
 * @property {{all: string, first: string}|null} lessons addresses that the tour leads to; null in a lesson
 * @property {boolean} guided whether the surrounding page gives instructions and is told of each action
 * @property {PictureName} picture
 * @property {boolean} enlarged whether the picture takes the table's place
 * @property {{reason: string, sentence: string, is_over: boolean, at_limit: boolean} | null} stop
 * @property {string} error the last event's error
 * @property {boolean} cancelled whether the error is a cancellation by a person, not a failure
 * @property {string} error_at the kind of that event
 * @property {string} said the last action's effect, if the page would not show it
 * @property {Busy | null} busy the current long operation
 * @property {boolean} offline
 * @property {string} visit_notice a change to the text during an absence, such as a replay after a restart
 * @property {string | null} cache_formula
 * @property {string} pending_bytes bytes of a character that no token has completed yet
 */

/**
 * @typedef {object} Busy a long operation, as it is shown
 * @property {string} what description in words
 * @property {number} done
 * @property {number | null} total null: unknown
 * @property {number} behind passes of other requests that come first
 * @property {boolean} can_cancel
 * @property {number} seconds elapsed seconds
 * @property {boolean} is_cancelling whether Cancel was pressed
 */

/** @typedef {Omit<Scene, 'steps' | 'prompt_tokens' | 'model' | 'manual' | 'point' | 'is_what_if'> & StateOnly & {is_what_if: boolean}} State */

// --- the view: everything on screen that follows from a row -------------------------------------

/**
 * @typedef {object} ViewRow one token at the chosen point
 * @property {number} rank in the rows' ranking: the one just before the first cut, or at the point if the point comes
 *   earlier
 * @property {number} id
 * @property {string} label
 * @property {number} logit the model's own logit
 * @property {number} score score at the point; a removed token keeps its last score
 * @property {number} model_prob softmax of the logits: at temperature 1, with nothing moved or removed
 * @property {number} prob probability in that ranking, after all score changes before the first cut
 * @property {number} cumulative running sum of `prob`, by rank
 * @property {string | null} removed_by name of the sampler
 * @property {number | null} final_prob after all samplers, renormalised; 0 if removed; null at points before that
 * @property {boolean} chosen whether it is the step's token or, in manual mode while there is none, the proposed token
 * @property {boolean} drawn whether the step's number draws this token with the settings on show
 */

/** @typedef {ViewRow & {share: number}} Leader a row with its share among all tokens left at the point */

/**
 * @typedef {object} Others all tokens without a row
 * @property {number} count
 * @property {number} prob
 * @property {number | null} final_prob
 * @property {string | null} removed_by the only sampler that removed some of them, or 'several'
 * @property {number} kept number of these tokens that are left
 */

/**
 * @typedef {object} Line a removing sampler's boundary in the rows' ranking at the point: a vertical line in every
 *   chart, after `last_rank` and, if above 1, before `first_rank`
 * @property {string} name
 * @property {string} label "top-p 0.9": the sampler and its value
 * @property {Kind} kind
 * @property {number} removed number of tokens that it removed
 * @property {number} kept number of tokens left after it
 * @property {number} first_rank of the tokens left after it; 0 if none is left, or if the removed tokens are not in the
 *   ranking (a ban before the first cut)
 * @property {number} last_rank
 * @property {boolean} is_contiguous whether all ranks between these two are left
 * @property {boolean} in_ranking whether the removed tokens are in the ranking
 * @property {boolean} is_lower whether it removed tokens below the remaining ones
 * @property {boolean} is_upper whether it removed tokens above the remaining ones
 */

/**
 * @typedef {object} Cut the tokens left at the point, in the rows' ranking
 * @property {number} first_rank
 * @property {number} last_rank
 * @property {boolean} is_contiguous
 * @property {string | null} below the sampler that removed the token below the last remaining one; null if none is
 *   removed there
 * @property {string[]} above the samplers that removed tokens above the first remaining one; [] if that is rank 1
 * @property {number} kept
 * @property {number} mass the remaining tokens' probability in the ranking
 */

/**
 * @typedef {object} MassLine the end on `Curve.cumulative` of a sampler that keeps a share of the probability
 * @property {string} name
 * @property {string} label "top-p 0.9"
 * @property {number} target the share of its input that the sampler keeps
 * @property {number | null} level that share on the curve as drawn; null if tokens changed places in between, so that
 *   no level is right
 * @property {boolean} is_share whether `level` differs from `target` because other samplers acted earlier
 * @property {number} rank of the token that reaches it
 */

/**
 * @typedef {object} Curve values at log-spaced ranks of the rows' ranking; at all ranks up to 100
 * @property {number[]} ranks
 * @property {number[]} model_prob the model's own distribution, by its own ranks
 * @property {number[]} prob
 * @property {number[]} cumulative running sum of `prob`
 * @property {boolean[]} kept whether the token at the rank is left at the point
 * @property {(number | null)[]} final probability in the draw; null at points before that
 * @property {(number | null)[]} cumulative_final running sum of `final` over all ranks up to this one
 */

/**
 * @typedef {object} MovedToken a token whose score a sampler changed
 * @property {number} id
 * @property {string} label
 * @property {number} from
 * @property {number} to -Infinity: removed
 */

/**
 * @typedef {object} SamplerView one sampler's effect on this row; one entry for every name in `settings.order`
 * @property {string} name
 * @property {string} label
 * @property {string} in_text
 * @property {Kind} kind
 * @property {boolean} on
 * @property {Value} value
 * @property {number} before number of tokens before the sampler
 * @property {number} after number of tokens left after the sampler
 * @property {number} mass_removed share of the prior probability that the sampler removed
 * @property {number} entropy_before in bits
 * @property {number} entropy_after in bits
 * @property {boolean} changes_scores whether it changed the odds of the remaining tokens
 * @property {number | null} first_rank of the tokens left after the sampler, in the rows' ranking; null if no cut has
 *   removed anything so far
 * @property {number | null} last_rank
 * @property {Record<string, Figure>} figures by name, for templates and pictures: the sampler's own figures, its
 *   numbers, and the common figures `before`, `after`, `removed`, `mass_removed`, `entropy_before`, `entropy_after`,
 *   and for an edit `moved`, `rose`, `fell`, `banned`, `names`, `share_before`, `share_after`
 * @property {string} case which of the sampler's templates applies
 * @property {MovedToken[]} moved for an edit: the leading tokens that it moved
 * @property {number} above for a cut: number of tokens removed above the remaining ones
 * @property {string | null} no_effect why the sampler has no effect in this chain
 * @property {string | null} remark another note on the sampler in this chain
 */

/** @typedef {number | string[]} Figure a number, or labels of tokens */

/** @typedef {{name: string, label: string, kind: 'logits' | 'sampler' | 'softmax' | 'draw'}} Point a place in the loop
 *   that can be inspected; `name` is a sampler's, or 'raw', 'renormalised', 'drawn' */

/**
 * @typedef {object} Draw
 * @property {number} u
 * @property {number} rank in the rows' ranking
 * @property {number | null} id null if it was not sent
 * @property {string | null} label
 * @property {number} probability
 * @property {number} from start of its interval of the final probabilities, in draw order
 * @property {number} to end of that interval
 * @property {number} level the place of u on `Curve.cumulative_final`: u itself, unless samplers reordered tokens after
 *   a cut
 * @property {boolean} same whether the drawn token is the recorded one
 */

/**
 * @typedef {object} WhatIf the actual outcome of a recorded step that is shown with different settings
 * @property {number} id
 * @property {string} label
 * @property {boolean} forced
 * @property {number | null} probability in the draw, as recorded
 * @property {number | null} u
 * @property {number | null} survivors
 * @property {Settings} settings the step's recorded settings
 * @property {string[]} changed samplers whose values or places differ from the recorded ones
 * @property {boolean} is_only_order whether only the samplers' order differs
 * @property {boolean} is_scale_changed whether the guidance scale differs
 */

/**
 * @typedef {object} DefaultOrder the result compared with that of the same samplers in default order
 * @property {string[]} order their default order
 * @property {number} now number of tokens left in the current order
 * @property {number} kept number that the default order would leave
 * @property {boolean} same_tokens whether the default order would leave the same tokens
 * @property {boolean} same_odds whether the draw would be the same distribution
 * @property {boolean} same_draw whether the same token would be taken
 * @property {'u' | 'greedy' | 'nothing'} taken_by how the token is chosen; nothing if it was forced
 */

/**
 * @typedef {object} View plain data, rebuilt whenever the row, settings or point change
 * @property {number} index of the step
 * @property {boolean} is_pending whether this step's token is still to be drawn
 * @property {number} vocab number of tokens that the model scores
 * @property {boolean} exact whether every figure is the engine's, except for curves with an averaged tail
 * @property {boolean} is_averaged whether the curves' tail is averaged
 * @property {string | null} missing a sampler that the server has to compute first; until then the view shows the last
 *   complete settings
 * @property {Settings} settings the view's settings: those on the sliders, or those of the recorded step
 * @property {Point[]} points
 * @property {number} point index into `points`; the last by default. The following values are "at" this point
 * @property {number} ranked number of samplers already applied in the rows' ranking
 * @property {ViewRow[]} rows
 * @property {Others} others
 * @property {Leader[]} leaders the two most likely tokens left at the point, as far as their ids were sent
 * @property {Leader[]} model_leaders the two most likely tokens by raw logits
 * @property {number} kept tokens left at the point
 * @property {string | null} emptied_by the sampler in the whole chain that removed the last token
 * @property {Line[]} lines
 * @property {Cut | null} cut null if nothing in the ranking is removed at the point
 * @property {MassLine[]} mass_lines one for each sampler that keeps a share of the probability
 * @property {string[]} score_changes samplers up to the point that changed scores
 * @property {SamplerView[]} samplers
 * @property {DefaultOrder | null} default_order null if the samplers are in default order
 * @property {Curve} curve
 * @property {Draw | null} draw null at points before the draw, if nothing is drawn, or if no token is left
 * @property {ViewRow | null} chosen the step's token, wherever it ranks; in manual mode, while pending, the proposed
 *   one
 * @property {{model: number, tempered: number, final: number, shown: number}} entropy in bits: of the raw logits, after
 *   the last sampler that divides scores (without one: just before the first cut), in the draw, at the point
 * @property {boolean} greedy whether the most likely token is simply taken
 * @property {boolean} is_guided whether the logits come from guidance rather than from the model alone
 * @property {boolean} as_recorded whether the step's own settings are shown; true while the step is pending
 * @property {WhatIf | null} what_if
 */

// --- events, messages, actions ------------------------------------------------------------------

/** @typedef {{run: string, branch: number, length: number}} Place a text and its length */

/** @typedef {Record<string, unknown> & {kind: string, client: string, number: number}} Event one user action, as sent
 *   to the server; ui/step/events.py lists the kinds and their fields */

/**
 * @typedef {object} MessageText data that stays the same for a whole text
 * @property {Model} model
 * @property {string} prompt
 * @property {boolean} chat
 * @property {ChatMessage[]} before
 * @property {number} from_cache
 * @property {[number, string, boolean][]} prompt_tokens id, label, whether special
 * @property {string | null} negative_prompt
 * @property {[number, string, boolean][] | null} negative_tokens
 * @property {number} guidance_scale
 * @property {{top_k: number, penalty_alpha: number} | null} strategy
 * @property {Settings} settings
 * @property {Record<string, Fields>} stage_defaults
 * @property {Limits} limits
 */

/**
 * @typedef {object} Message a message from the server, unpacked; ui/step/message.py makes it
 * @property {string} session
 * @property {string} run
 * @property {string} client the client whose event it answers
 * @property {number} acknowledged number of that event
 * @property {MessageText | null} text sent with a new run
 * @property {number} branch
 * @property {number} first the first step that `steps` contains
 * @property {number} length of the branch
 * @property {string[]} step_fields
 * @property {unknown[][]} steps one list each, in the order of `step_fields`
 * @property {Branch[]} branches
 * @property {number} index
 * @property {string} row_key
 * @property {Row | null} row
 * @property {StepOnScreen} [step]
 * @property {State['stop']} stop
 * @property {{settings: Settings, limits: Limits, guidance_scale: number | null, strategy: State['strategy']} | null} in_force
 * @property {string | null} cache_formula
 * @property {string} pending_bytes
 * @property {FoundToken[] | null} found
 * @property {FoundToken[] | null} tokenized
 * @property {Snippet[] | null} snippets
 * @property {[number, string][]} labels
 * @property {string | null} trace
 * @property {SearchedStep | null} search
 * @property {string} error
 */

/** @typedef {{target: string, language: string, code: string, lacking: [string, string][],
 *   differs: [string, string][]}} Snippet the settings as code for another program */

/**
 * @typedef {object} Admission a small change that lets a removed token survive, as found by the engine
 * @property {string | null} setting null if several samplers block the token together
 * @property {string | null} field the one field that differs, if the value has several
 * @property {Value} value
 * @property {Settings} settings with the change
 * @property {boolean} lifted whether a ban of the token was lifted
 * @property {number | null} bias the token's bias, if a bias admits it
 * @property {string[]} blocked_by samplers that exclude it only together; then nothing else is set
 */

/** @typedef {{value: number} | {sentence: string}} Checked the value that was accepted, or why it was not */

/**
 * @typedef {'new' | 'asked' | 'step' | 'draw' | 'slide' | 'moved' | 'done'} Tour a stop of the tour; new: not yet seen
 */
/** @typedef {'next' | 'step' | 'set' | 'skip' | 'begin'} TourEvent an action during the tour */

/**
 * @typedef {object} Actions the actions available to a person; a part calls them and changes nothing itself
 * @property {(changes: Partial<Draft>) => void} draft change the start of the next text
 * @property {() => Promise<unknown>} start begin the next text
 * @property {() => Promise<unknown>} reply begin the next turn of the conversation
 * @property {(example: Example) => unknown} try_example
 * @property {(linked: Linked) => void} follow_link show what a link sets, for Start
 * @property {(number: number) => unknown} reopen bring back an earlier text
 * @property {() => unknown} step
 * @property {() => unknown} back
 * @property {() => unknown} rewind
 * @property {() => unknown} play
 * @property {() => void} pause
 * @property {() => void} toggle_play
 * @property {() => unknown} run_to_end
 * @property {() => unknown} reroll
 * @property {(index: number) => unknown} inspect
 * @property {(offset: number) => void} inspect_by
 * @property {(token_id: number) => unknown} force
 * @property {(text: string) => unknown} edit replace the generated text from the first change on, as a branch
 * @property {(number: number) => unknown} switch_branch
 * @property {() => unknown} next_stage advance slow motion; an early press waits for its turn
 * @property {() => unknown} skip_stages
 * @property {() => void} proceed handle Enter, whose meaning depends on the mode
 * @property {() => void} leave handle Escape
 * @property {(changes: Settings) => void} set change sliders and order; redraws at once
 * @property {(scale: number) => void} guide change the guidance scale
 * @property {() => void} show_recorded leave a what-if
 * @property {() => void} settle note that a slider was released, so that the server may be told
 * @property {(changes: Partial<Limits>) => unknown} limit change stop rules
 * @property {(changes: Partial<State>) => void} show change state that only this page knows
 * @property {(on?: boolean) => void} stage enter or leave stage view
 * @property {(on?: boolean) => void} hide cover the candidates of every step until they are revealed
 * @property {() => void} reveal uncover the candidates, or cover them again
 * @property {(name: string, on: boolean) => void} toggle_column
 * @property {() => unknown} fetch_row ask the server for the scores of all tokens at the place on screen
 * @property {(rows: number) => void} fit_rows set how many rows of the table fit
 * @property {() => void} forget dismiss the line's message
 * @property {(event: TourEvent) => void} tour continue, leave or begin the tour
 * @property {(name: 'manual' | 'slow', on?: boolean) => void} toggle
 * @property {(query: string) => Promise<FoundToken[] | null>} find search for tokens: at most 13, the last of which
 *   signals more
 * @property {(text: string) => Promise<FoundToken[]>} tokenize split a text into tokens
 * @property {(token_id: number) => Promise<Admission | null>} admit find a change that admits a removed token
 * @property {(setting: string, field: string, value: number) => Promise<Checked>} check check a typed value against the
 *   engine
 * @property {() => Promise<Snippet[]>} snippets
 * @property {() => Promise<void>} save_trace
 * @property {(file: File) => Promise<unknown>} open_trace reproduce a trace's text and continue from there
 * @property {() => void} focus_search
 * @property {() => boolean} is_busy
 * @property {() => boolean} cancel end a long operation; false if there is none
 */

/** @typedef {'slide' | 'step' | 'resize' | 'theme'} Reason why parts are redrawn: settings move; any other event; a new
 *   size; new colours */

/**
 * @typedef {object} Part the result of a part's `create(root, actions)`
 * @property {(state: State, reason: Reason) => void} update
 * @property {() => void} [destroy]
 */

// --- the tokens page: a text as one tokenizer cuts it, packed by ui/tokens/message.py -----------

/**
 * @typedef {object} ShownToken
 * @property {number} id
 * @property {string} label visible form
 * @property {string} bytes in hexadecimal: "20 73"
 * @property {number} start the first character that its bytes belong to, counted from 0
 * @property {number} end the character after its last one
 * @property {number | null} first_byte place of its first byte in the text; null if the tokenizer changes the text
 * @property {boolean} is_special whether it is a control token
 * @property {boolean} is_inserted whether the tokenizer added it around the text
 * @property {boolean} is_unknown whether it represents text that no token spells
 * @property {boolean} is_partial whether its bytes are not whole characters
 * @property {number | null} pre_token
 */
/** @typedef {[start: number, middle: number, end: number, rank: number, label: string, id: number]} ShownMerge */
/** @typedef {[end: number, label: string, id: number, tried: number]} ShownMatch */
/** @typedef {{kind: 'merges', symbols: string[], merges: ShownMerge[], ranks: number, is_whole: boolean}} Merges */
/** @typedef {{kind: 'matches', text: string[], matches: ShownMatch[]}} Matches `text`: its characters, visible */
/** @typedef {{kind: 'cuts', cuts: {score: number, tokens: [label: string, score: number][]}[]}} Cuts */
/** @typedef {{kind: 'none', reason: string}} Nothing */
/** @typedef {Merges | Matches | Cuts | Nothing} Making */
/**
 * @typedef {object} Side a text as one tokenizer cuts it
 * @property {string} name
 * @property {string} facts facts in one line
 * @property {string} note a note on omitted content; empty if everything is shown
 * @property {ShownToken[]} tokens
 * @property {[label: string, making: number][]} pre_tokens
 * @property {Making[]} makings all distinct makings
 * @property {number} first the token chosen initially
 */
/** @typedef {{side: Side, chosen: number, pointed: number | null}} TokensState `pointed`: token under the pointer */
/** @typedef {{choose: (place: number) => void, point: (place: number | null) => void}} TokensActions */

export {};
