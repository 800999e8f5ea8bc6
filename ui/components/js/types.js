// The shapes of everything that passes between modules, for readers and for `tsc`. No code.

// --- the table of samplers, as ui/texts/settings.py serves it ----------------------------------

/** @typedef {'edit' | 'scale' | 'cut'} Kind edit: moves or removes single tokens; scale: divides all scores;
 *   cut: removes by rank or probability */

/**
 * @typedef {object} NumberField one number of a sampler
 * @property {string} name
 * @property {string} label
 * @property {number} low where its slider begins
 * @property {number} high where its slider ends
 * @property {number} step of its slider
 * @property {number} usual what it starts with
 * @property {boolean} whole whether it is a whole number
 * @property {Record<string, string>} words values that read better as a word: `{"-1": "all"}`
 */

/**
 * @typedef {object} Sampler
 * @property {string} name as in settings
 * @property {string} label as a heading: "Top-p"
 * @property {string} in_text within a sentence: "top-p", "DRY"
 * @property {Kind} kind
 * @property {boolean} removes_only an edit that removes tokens and does nothing else
 * @property {string} group name of its group in the chooser
 * @property {'number' | 'numbers' | 'biases' | 'sequences' | 'source'} value shape of its setting, which also chooses the editor
 * @property {number | null} off the value that switches it off; null where it has several numbers
 * @property {string} about
 * @property {string} formula
 * @property {{text: string, url: string} | null} paper
 * @property {string} idle what is said of it while it is off
 * @property {NumberField[]} numbers
 * @property {[string, string] | null} pair two of its numbers, the first never above the second
 * @property {'rank' | 'mass' | 'threshold' | 'window' | 'edit' | 'scale'} picture which small picture shows its rule
 * @property {Record<string, string>} says by case: a template for one or two sentences on what it did
 * @property {Record<string, string>} note by case: a template of a few words for its own line, may be empty
 */

/**
 * @typedef {object} Table everything that is known of samplers, served once
 * @property {Sampler[]} samplers in the default order
 * @property {{name: string, label: string}[]} groups in the order of the chooser
 * @property {string[]} order the default order
 * @property {string[]} first the samplers that a new page shows
 * @property {{name: string, settings: Settings}[]} presets
 * @property {Record<string, string>} [points] what the points of the loop are that are no samplers
 */

// --- settings -----------------------------------------------------------------------------------

/** @typedef {Record<string, number | string | number[] | number[][] | null>} Fields a sampler's numbers by name; its biases as
 *   `{bias: [[id, number], ...]}`, its words as `{sequences: [[id, ...], ...]}`, a constraint as `{language, source}` */

/** @typedef {number | Fields | null} Value of a sampler; null is off where it has several numbers */

/**
 * @typedef {{order?: string[], seed?: number} & {[name: string]: Value | string[] | undefined}} Settings
 *   `order` names the samplers that have a place on the page, in the order in which they apply; there is one value
 *   for each. A sampler at its off value keeps its place. What `order` does not name is off
 */

/** @typedef {{name: string, value: number | Fields, kind?: Kind}} Link one sampler of a chain, with its value */

/** @typedef {Link[]} Chain the samplers that are on, in the order in which they apply */

/** @typedef {{max_tokens: number, stop_strings: string[]}} Limits the stop rules */

// --- a row of scores ----------------------------------------------------------------------------

/**
 * @typedef {object} PackedRow one row of raw logits as runs of equal scores, see rows.py
 * @property {number} vocab number of tokens that the model scores
 * @property {number} possible how many of them are above -inf
 * @property {boolean} exact false where the tail came in bins
 * @property {Float32Array} values scores of the runs, descending
 * @property {Uint32Array} counts tokens in each run
 * @property {Uint16Array | Uint32Array} ids token ids in rank order, as far as they came along
 */

/**
 * @typedef {object} Outcome what the server's engine says that one sampler did to the row, see ui/components/outcomes.py
 * @property {string} name
 * @property {number | Fields} value that it was computed with
 * @property {number} survivors tokens left after it
 * @property {number} mass_removed
 * @property {number} entropy_bits after it
 * @property {number} highest score after it
 * @property {number} mass sum of exp(score - highest) over the tokens left
 * @property {Record<string, number | null>} figures see `SamplerView`; null: not finite
 * @property {string} case which of its sentences holds
 * @property {'scaled' | 'window' | 'mask' | 'moved' | 'row'} kept how the tokens left are told. scaled: all of them;
 *   window: a run of ranks, scores as before; mask: any of the ranks, scores as before; moved: other scores for a few
 *   tokens; row: other scores for all
 * @property {number} [temperature] scaled: what scores are divided by
 * @property {number} [first] window: tokens of the ranking before it that stand in front of those left
 * @property {Uint8Array} [mask] one bit for each token before it in rank order, lowest bit first
 * @property {[number, number, number | null, number | null][]} [moved] of each moved token (of `row`: of the leading
 *   ones) id, rank in the raw row, raw logit, and new score (null: removed)
 * @property {[number, number, number | null][]} [leading] of the leading moved tokens id, score before and after
 * @property {{values: Float32Array, counts: Uint32Array}} [runs] row: the scores after it, descending, and how many
 *   tokens have each
 * @property {Uint32Array} [order] row: of these tokens the ranks in the raw row
 */

/**
 * @typedef {object} ShapedByEngine what the server's engine made of the row, see ui/components/outcomes.py
 * @property {Settings} settings the chain
 * @property {Outcome[]} outcomes what each of its samplers did, to the one that removed the last token
 * @property {{u: number, rank: number, id: number, probability: number, from: number, to: number} | null} draw rank
 *   after the last sampler, and its stretch of the cumulative distribution
 * @property {DefaultOrder | null} default_order
 */

/**
 * @typedef {object} StepOnScreen what belongs to the step that a row is of
 * @property {number} index
 * @property {boolean} is_pending its token is not drawn yet
 * @property {number | null} chosen its token; null while it is pending
 * @property {[rank: number, logit: number | null] | null} [standing] of its token in the row; 0 and null at -inf; null while
 *   there is none, and where the model does not name it
 * @property {boolean} forced the token was chosen by hand
 * @property {number | null} u the number that it was or will be drawn with; null where nothing was drawn
 * @property {number | null} xtc_u the step's second uniform number
 * @property {Settings | null} recorded_settings that the step was taken with, on samplers only; null while pending
 * @property {number | null} recorded_scale of guidance, that the step was taken with
 */

/**
 * @typedef {object} RowExtras
 * @property {Map<number, string>} labels of the tokens whose labels came along
 * @property {number} [total] of a row whose tail is in bins: sum of exp(score - highest score) over all tokens
 * @property {number} [entropy_bits] of such a row
 * @property {ShapedByEngine | null} [shaped] the engine's results for the chain that it last had
 * @property {number | null} [scale] of guidance, that the scores are made at
 * @property {[id: number, ...standings: [rank: number, prob: number][]][]} [compared] of a whole row under guidance: how
 *   the leading tokens stand with it, after the prompt and after the negative prompt; rank 0 at -inf
 * @property {boolean} [light] only what the screen shows has come; the rest may be asked for
 */

/** @typedef {PackedRow & StepOnScreen & RowExtras} Row the scores of one step, and what belongs to the step */

/** @typedef {Row & {exact: false}} LightRow what a step sends: an exact head, the tail in bins, `shaped` for the
 *   settings in force */

/** @typedef {{id: number, label?: string, raw_rank?: number, logit?: number | null}} Token as a search finds one:
 *   without a finite logit it is at -inf */

/** @typedef {{id: number, label: string, raw_rank: number | null, logit: number | null}} FoundToken what a search brings:
 *   null where there are no scores, or the token is at -inf */

// --- the state of the step page -----------------------------------------------------------------

/**
 * @typedef {object} PromptToken
 * @property {number} id
 * @property {string} label
 * @property {boolean} special
 * @property {string} [text] what it adds to the plain text
 * @property {number} [folded] in the strip of a long prompt: it stands for so many tokens
 * @property {number} [place] in the same: its place in the prompt
 */

/**
 * @typedef {object} StepFigures what is kept of each step that was taken
 * @property {string} text what it adds to the plain text
 * @property {boolean} partial the token is part of a character
 * @property {boolean} forced chosen by hand
 * @property {number} probability in the draw
 * @property {number} model_probability at temperature 1, nothing penalised or removed
 * @property {number} rank by raw logits
 * @property {number | null} u null where nothing was drawn
 * @property {[string, string, number][]} stage_states sampler, name and value of what samplers remembered or drew
 * @property {number} entropy after temperature, before the cuts; bits
 * @property {number} model_entropy of the model's own distribution
 * @property {number} survivors
 * @property {number} forward_ms
 * @property {number} shape_ms
 * @property {number} draw_ms
 * @property {number} total_ms
 * @property {boolean} is_prefill
 * @property {boolean} reused no forward pass was needed
 * @property {number | null} negative_forward_ms under guidance: the second text's share
 * @property {number | null} negative_cache_bytes the same of the cache
 * @property {number | null} guidance_scale
 * @property {number} positions in the cache
 * @property {number | null} cache_bytes in use; null if the model does not tell
 * @property {number | null} cache_bytes_held reserved
 * @property {number | null} formula_bytes what the formula predicts
 */

/** @typedef {PromptToken & StepFigures} Step one step of the text on screen */

/**
 * @typedef {object} Model
 * @property {string} name
 * @property {string} source
 * @property {number} vocab_size
 * @property {number | null} listed how many of them have a score of their own in a step; null for all
 * @property {boolean} has_logits whether its scores are logits; else log-probabilities
 * @property {number | null} context_length
 * @property {number[]} eos_ids
 * @property {number[]} line_break_ids
 * @property {boolean} has_chat_template
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
 *   number][]}} RecordedStep one step of a text that is only read; a row has label, id, rank, score, the model's own
 *   probability and that in the draw; none in a search */

/** @typedef {{number: number, parent: number | null, departs_at: number, length: number, text: string,
 *   current: boolean}} Branch */

/** @typedef {{name: string, reason: string, has_effect: boolean}} Remark what there is to know of a sampler in its
 *   chain; without effect the draw would be the same without it */

/** @typedef {'full' | 'few'} Digits how many digits figures have; few in stage view */

/**
 * @typedef {object} Scene what a view is made of; any page that has these can draw the parts
 * @property {Table} table
 * @property {Row | null} row
 * @property {Settings} settings on the sliders
 * @property {boolean} [is_what_if] look at a recorded step with `settings`; otherwise with those it was taken with
 * @property {number | null} [point] null: the whole chain; or an index into `View.points`
 * @property {number} row_count
 * @property {{id: number}[]} prompt_tokens
 * @property {(Step | {id: number, label?: string})[]} steps
 * @property {{eos_ids: number[], line_break_ids: number[]} | null} [model]
 * @property {boolean} [manual] the next token is proposed and waits for a person
 * @property {number} [guidance_scale] on the slider
 * @property {{settings: Settings, list: Remark[]} | null} [remarks] the engine's, and the settings that they are about
 */

/** @typedef {'probability' | 'model_probability' | 'entropy' | 'model_entropy'} Colouring what the colours of tokens show */

/** @typedef {'distribution' | 'ranks' | 'draw' | 'guidance'} PictureName */

/**
 * @typedef {object} Example a prompt worth a look
 * @property {string} name
 * @property {string} prompt
 * @property {string} look_at one sentence on where to look
 * @property {Settings} settings
 * @property {string | null} negative_prompt
 * @property {number} guidance_scale
 * @property {{top_k: number, penalty_alpha: number} | null} strategy
 */

/** @typedef {{number: number, prompt: string, tokens: number, model: string, when: string}} EarlierText */

/**
 * @typedef {object} Draft what the next text begins from, as it stands in the fields
 * @property {string} prompt
 * @property {boolean} chat
 * @property {string | null} negative_prompt null: without guidance
 * @property {boolean} is_search contrastive search; else sampling
 * @property {number} top_k candidates of the search
 * @property {number} penalty_alpha of the search; holds for the next step at once
 */

/**
 * @typedef {object} StateOnly what the step page knows besides; apps/step/ changes it, parts only read it
 * @property {string} visit names this tab's visit
 * @property {string} run names the text; another one means a new text
 * @property {number} branch
 * @property {Model | null} model null until the first message
 * @property {string} prompt
 * @property {boolean} chat
 * @property {PromptToken[]} prompt_tokens
 * @property {string | null} negative_prompt null: the text began without guidance
 * @property {PromptToken[] | null} negative_tokens null: not read, as at scale 1
 * @property {number} guidance_scale on the slider
 * @property {{top_k: number, penalty_alpha: number} | null} strategy contrastive search; null: sampling
 * @property {SearchedStep | null} searched the step on screen of a search
 * @property {string} read_only why the text is only read from a trace, as a sentence; '' with a model
 * @property {RecordedStep | null} recorded the step on screen of such a text
 * @property {Draft} draft
 * @property {boolean} starting Start was pressed, and its text has not come
 * @property {boolean} drafted whether Start would begin something else than what is on screen
 * @property {Example[]} examples
 * @property {string} example where to look in the example on screen; '' for another text
 * @property {EarlierText[]} earlier texts that can be brought back
 * @property {Record<string, Fields>} stage_defaults fields of an added sampler that depend on the tokenizer
 * @property {Step[]} steps of the current branch
 * @property {Branch[]} branches empty while there is one only
 * @property {number} index the inspected step; steps.length: the next one
 * @property {Map<number, string>} labels of the vocabulary, those that have come
 * @property {string} row_key which row it is; sent back, so that none comes twice
 * @property {View | null} view what is on screen, made of the row; null without one
 * @property {boolean} greedy the most likely token is simply taken; known also while the view is covered
 * @property {Limits} limits
 * @property {Settings} first_settings the server's, for a text that this page has not seen
 * @property {Limits} first_limits
 * @property {'paused' | 'playing' | 'running'} mode
 * @property {boolean} manual
 * @property {boolean} slow slow motion
 * @property {number} speed tokens a second; 0: as fast as it goes
 * @property {number | null} point
 * @property {number} row_count rows of the table; 0: as many as fit
 * @property {number} fitted_rows how many fit
 * @property {string[]} columns of the table, beyond the usual ones
 * @property {Colouring} colouring
 * @property {boolean} keys whether single keys are shortcuts
 * @property {boolean} stage stage view: text and candidates alone, in large type
 * @property {string} stage_slider the sampler that its slider sets
 * @property {boolean} hiding each step's candidates are covered until they are revealed
 * @property {string} revealed the place whose candidates are
 * @property {boolean} covered whether those on screen are covered
 * @property {Digits} digits
 * @property {Tour} tour how far a newcomer is
 * @property {{all: string, first: string}|null} lessons addresses to which the tour leads; null in a lesson
 * @property {boolean} guided whether the page around this says what to do, and hears of what was done
 * @property {PictureName} picture
 * @property {boolean} enlarged the picture takes the table's place
 * @property {{reason: string, sentence: string, is_over: boolean, at_limit: boolean} | null} stop
 * @property {string} error what went wrong with the last event
 * @property {boolean} cancelled whether that is no failure: somebody has cancelled it
 * @property {string} error_at which kind of event that was
 * @property {string} said what the last action did, where the page would not show it
 * @property {Busy | null} busy what takes its time just now
 * @property {boolean} offline
 * @property {string} visit_notice what happened to the text meanwhile, as a replay after a restart
 * @property {string | null} cache_formula
 * @property {string} pending_bytes of a character that no token has finished yet
 */

/**
 * @typedef {object} Busy what takes long, as it is shown
 * @property {string} what in words
 * @property {number} done
 * @property {number | null} total null: unknown
 * @property {number} behind passes of others that go first
 * @property {boolean} can_cancel
 * @property {number} seconds so far
 * @property {boolean} is_cancelling somebody has pressed Cancel
 */

/** @typedef {Omit<Scene, 'steps' | 'prompt_tokens' | 'model' | 'manual' | 'point' | 'is_what_if'> & StateOnly & {is_what_if: boolean}} State */

// --- the view: everything on screen that follows from a row -------------------------------------

/**
 * @typedef {object} ViewRow one token at the point
 * @property {number} rank in the ranking that all rows stand in: the one just before the first cut, or at the point
 *   where that comes earlier
 * @property {number} id
 * @property {string} label
 * @property {number} logit the model's own
 * @property {number} score as it stands at the point; of a removed token, as it last stood
 * @property {number} model_prob softmax of the logits: temperature 1, nothing moved or removed
 * @property {number} prob in that ranking: with all changes of scores in front of the first cut
 * @property {number} cumulative running sum of `prob`, by rank
 * @property {string | null} removed_by name of the sampler
 * @property {number | null} final_prob after all samplers, renormalised; 0 if removed; null at points before that
 * @property {boolean} chosen the step's token; in manual mode, while it has none, the one that is proposed
 * @property {boolean} drawn the token that the step's number draws with the settings on show
 */

/** @typedef {ViewRow & {share: number}} Leader with its share among all that are left at the point */

/**
 * @typedef {object} Others all tokens without a row
 * @property {number} count
 * @property {number} prob
 * @property {number | null} final_prob
 * @property {string | null} removed_by the only sampler that removed some of them, or 'several'
 * @property {number} kept how many of them are left
 */

/**
 * @typedef {object} Line where a sampler that removes tokens at the point has left the ranking that rows stand in:
 *   a vertical line in every chart, behind `last_rank`, and, above 1, in front of `first_rank`
 * @property {string} name
 * @property {string} label "top-p 0.9": the sampler and what it is set to
 * @property {Kind} kind
 * @property {number} removed tokens that it removed
 * @property {number} kept tokens left after it
 * @property {number} first_rank of the tokens left after it; 0 where nobody is left, or where what it removed does not
 *   stand in the ranking (a ban in front of the first cut)
 * @property {number} last_rank
 * @property {boolean} is_contiguous whether all ranks between these two are left
 * @property {boolean} in_ranking whether what it removed stands in the ranking
 * @property {boolean} is_lower whether it removed tokens below those left
 * @property {boolean} is_upper whether it removed tokens above those left
 */

/**
 * @typedef {object} Cut the tokens left at the point, in the ranking that rows stand in
 * @property {number} first_rank
 * @property {number} last_rank
 * @property {boolean} is_contiguous
 * @property {string | null} below who removed the token below the last one left; null: none is removed there
 * @property {string[]} above who removed those above the first one; [] where that is rank 1
 * @property {number} kept
 * @property {number} mass probability that those left held in the ranking
 */

/**
 * @typedef {object} MassLine where a sampler that keeps a share of the probability ends on `Curve.cumulative`
 * @property {string} name
 * @property {string} label "top-p 0.9"
 * @property {number} target the share that it keeps of what it got
 * @property {number | null} level the same on the curve as it is drawn; null where tokens changed places in between,
 *   so that no level is right
 * @property {boolean} is_share whether `level` is not `target`, as other samplers acted in front of it
 * @property {number} rank of the token that reaches it
 */

/**
 * @typedef {object} Curve at log-spaced ranks of the ranking that rows stand in; all ranks to 100
 * @property {number[]} ranks
 * @property {number[]} model_prob the model's own distribution, by its own ranks
 * @property {number[]} prob
 * @property {number[]} cumulative running sum of `prob`
 * @property {boolean[]} kept whether the token at the rank is left at the point
 * @property {(number | null)[]} final probability in the draw; null at points before that
 * @property {(number | null)[]} cumulative_final running sum of it, over all ranks to this one
 */

/**
 * @typedef {object} MovedToken a token whose score a sampler changed
 * @property {number} id
 * @property {string} label
 * @property {number} from
 * @property {number} to -Infinity: removed
 */

/**
 * @typedef {object} SamplerView what one sampler did to this row; one for every name in `settings.order`
 * @property {string} name
 * @property {string} label
 * @property {string} in_text
 * @property {Kind} kind
 * @property {boolean} on
 * @property {Value} value
 * @property {number} before tokens in front of it
 * @property {number} after tokens left behind it
 * @property {number} mass_removed share of the probability in front of it that it removed
 * @property {number} entropy_before bits
 * @property {number} entropy_after bits
 * @property {boolean} changes_scores whether it gave tokens that are left other odds
 * @property {number | null} first_rank of those left behind it, in the ranking that rows stand in; null where no cut
 *   has removed anything so far
 * @property {number | null} last_rank
 * @property {Record<string, Figure>} figures by name, for templates and pictures: its own, its numbers, and the common
 *   ones: `before`, `after`, `removed`, `mass_removed`, `entropy_before`, `entropy_after`, and of an edit `moved`,
 *   `rose`, `fell`, `banned`, `names`, `share_before`, `share_after`
 * @property {string} case which of its templates holds
 * @property {MovedToken[]} moved of an edit: the leading tokens that it moved
 * @property {number} above of a cut: how many it removed in front of those left
 * @property {string | null} no_effect why it has no effect in this chain
 * @property {string | null} remark what else there is to know of it in this chain
 */

/** @typedef {number | string[]} Figure a number, or labels of tokens */

/** @typedef {{name: string, label: string, kind: 'logits' | 'sampler' | 'softmax' | 'draw'}} Point a place in the loop
 *   that can be looked at; `name` is a sampler's, or 'raw', 'renormalised', 'drawn' */

/**
 * @typedef {object} Draw
 * @property {number} u
 * @property {number} rank in the ranking that rows stand in
 * @property {number | null} id null where it did not come along
 * @property {string | null} label
 * @property {number} probability
 * @property {number} from where its stretch of the final probabilities begins, in the order of the draw
 * @property {number} to where that ends
 * @property {number} level where u lies on `Curve.cumulative_final`: u itself, but where samplers changed the order
 *   of tokens after a cut
 * @property {boolean} same whether it is the recorded token
 */

/**
 * @typedef {object} WhatIf a recorded step that is looked at with other settings: what happened in fact
 * @property {number} id
 * @property {string} label
 * @property {boolean} forced
 * @property {number | null} probability in the draw, as recorded
 * @property {number | null} u
 * @property {number | null} survivors
 * @property {Settings} settings that it was taken with
 * @property {string[]} changed samplers whose values, or places, are not those
 * @property {boolean} is_only_order of the samplers
 * @property {boolean} is_scale_changed whether the scale of guidance is another
 */

/**
 * @typedef {object} DefaultOrder how the result differs from the one that the same samplers have in default order
 * @property {string[]} order their default order
 * @property {number} now how many tokens are left in the present one
 * @property {number} kept how many the default one would leave
 * @property {boolean} same_tokens whether it would leave the same
 * @property {boolean} same_odds whether the draw would be the same distribution
 * @property {boolean} same_draw whether the same token would be taken
 * @property {'u' | 'greedy' | 'nothing'} taken_by what takes the token; nothing where it was forced
 */

/**
 * @typedef {object} View plain data, made anew whenever row, settings or point change
 * @property {number} index of the step
 * @property {boolean} is_pending the token of this step is not drawn yet
 * @property {number} vocab number of tokens that the model scores
 * @property {boolean} exact whether every figure is the engine's, but for curves whose tail is averaged
 * @property {boolean} is_averaged whether the tail of curves is an average
 * @property {string | null} missing a sampler that the server has to compute first; until then the view shows the
 *   settings that were complete last
 * @property {Settings} settings what the view is of: those on the sliders, or those that the step was taken with
 * @property {Point[]} points
 * @property {number} point index into `points`; the last by default. What follows is "at" it
 * @property {number} ranked how many samplers the ranking that rows stand in has behind it
 * @property {ViewRow[]} rows
 * @property {Others} others
 * @property {Leader[]} leaders the two most likely of those left at the point, as far as their ids came along
 * @property {Leader[]} model_leaders the same of the raw logits
 * @property {number} kept tokens left at the point
 * @property {string | null} emptied_by the sampler of the whole chain that removed the last token
 * @property {Line[]} lines
 * @property {Cut | null} cut null where nothing in the ranking is removed at the point
 * @property {MassLine[]} mass_lines one for each sampler that keeps a share of the probability
 * @property {string[]} score_changes samplers up to the point that changed scores
 * @property {SamplerView[]} samplers
 * @property {DefaultOrder | null} default_order null if the samplers are in it
 * @property {Curve} curve
 * @property {Draw | null} draw null at points before it, where nothing is drawn, and where nobody is left
 * @property {ViewRow | null} chosen the step's token, wherever it ranks; in manual mode, while pending, the proposed one
 * @property {{model: number, tempered: number, final: number, shown: number}} entropy bits: of the raw logits, after
 *   the last sampler that divides scores (without one: just before the first cut), in the draw, at the point
 * @property {boolean} greedy the most likely token is simply taken
 * @property {boolean} is_guided whether the logits are those of guidance, not the model's own
 * @property {boolean} as_recorded what is shown is what the step was taken with; true while it is pending
 * @property {WhatIf | null} what_if
 */

// --- events, messages, actions ------------------------------------------------------------------

/** @typedef {{run: string, branch: number, length: number}} Place which text, and how long it was */

/** @typedef {Record<string, unknown> & {kind: string, client: string, number: number}} Event what goes to the server:
 *   one thing that a person did; ui/step/events.py says which kinds there are, and what belongs to each */

/**
 * @typedef {object} MessageText what stays the same for a whole text
 * @property {Model} model
 * @property {string} prompt
 * @property {boolean} chat
 * @property {[number, string, boolean][]} prompt_tokens id, label, special
 * @property {string | null} negative_prompt
 * @property {[number, string, boolean][] | null} negative_tokens
 * @property {number} guidance_scale
 * @property {{top_k: number, penalty_alpha: number} | null} strategy
 * @property {State['examples']} examples
 * @property {Settings} settings
 * @property {Record<string, Fields>} stage_defaults
 * @property {Limits} limits
 */

/**
 * @typedef {object} Message what comes from the server, unpacked; ui/step/message.py makes it
 * @property {string} session
 * @property {string} run
 * @property {string} client whose event it answers
 * @property {number} acknowledged number of that event
 * @property {MessageText | null} text with a new run
 * @property {number} branch
 * @property {number} first from which step on `steps` hold
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
 * @typedef {object} Admission a small change that lets a removed token survive, as the engine finds it
 * @property {string | null} setting null where samplers block it together
 * @property {string | null} field the one field that differs, where the value has several
 * @property {Value} value
 * @property {Settings} settings with the change
 * @property {boolean} lifted a ban of the token was lifted
 * @property {number | null} bias the token's own, where a bias admits it
 * @property {string[]} blocked_by samplers that only together keep it out; then nothing else is set
 */

/** @typedef {{value: number} | {sentence: string}} Checked what a typed value becomes, or why it cannot be taken */

/** @typedef {'new' | 'asked' | 'step' | 'draw' | 'slide' | 'moved' | 'done'} Tour a stop of the tour; new: nobody has seen it */
/** @typedef {'next' | 'step' | 'set' | 'skip' | 'begin'} TourEvent what a person does on it */

/**
 * @typedef {object} Actions what a person can do; a part calls them and changes nothing itself
 * @property {(changes: Partial<Draft>) => void} draft what the next text begins from
 * @property {() => Promise<unknown>} start begin it
 * @property {(example: Example) => unknown} try_example
 * @property {(number: number) => unknown} reopen an earlier text
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
 * @property {(number: number) => unknown} switch_branch
 * @property {() => unknown} next_stage slow motion; a press that comes too early waits for its turn
 * @property {() => unknown} skip_stages
 * @property {() => void} proceed Enter: what it means depends on the mode
 * @property {() => void} leave Escape
 * @property {(changes: Settings) => void} set sliders and order; redraws at once
 * @property {(scale: number) => void} guide the scale of guidance
 * @property {() => void} show_recorded leave a what-if
 * @property {() => void} settle a slider was let go: the server may hear of it
 * @property {(changes: Partial<Limits>) => unknown} limit stop rules
 * @property {(changes: Partial<State>) => void} show what only this page knows
 * @property {(on?: boolean) => void} stage enter stage view, or leave it
 * @property {(on?: boolean) => void} hide cover the candidates of every step until they are revealed
 * @property {() => void} reveal uncover them, or cover them again
 * @property {(name: string, on: boolean) => void} toggle_column
 * @property {(rows: number) => void} fit_rows so many rows of the table fit
 * @property {() => void} forget put away what the line says
 * @property {(event: TourEvent) => void} tour go on with it, leave it, begin it
 * @property {(name: 'manual' | 'slow', on?: boolean) => void} toggle
 * @property {(query: string) => Promise<FoundToken[] | null>} find at most 13, of which the last says that there are more
 * @property {(text: string) => Promise<FoundToken[]>} tokenize the tokens that a text is split into
 * @property {(token_id: number) => Promise<Admission | null>} admit what would let a removed token in
 * @property {(setting: string, field: string, value: number) => Promise<Checked>} check a typed value, as the engine takes it
 * @property {() => Promise<Snippet[]>} snippets
 * @property {() => Promise<void>} save_trace
 * @property {(file: File) => Promise<unknown>} open_trace make the text of a trace again, and go on with it
 * @property {() => void} focus_search
 * @property {() => boolean} is_busy
 * @property {() => boolean} cancel end what takes long; false where nothing does
 */

/** @typedef {'slide' | 'step' | 'resize' | 'theme'} Reason why parts are drawn: settings move; anything else that
 *   happened; their size or colours changed */

/**
 * @typedef {object} Part what `create(root, actions)` of a part returns
 * @property {(state: State, reason: Reason) => void} update
 * @property {() => void} [destroy]
 */

// --- the tokens page: a text as one tokenizer cuts it, packed by ui/tokens/message.py -----------

/**
 * @typedef {object} ShownToken
 * @property {number} id
 * @property {string} label visible
 * @property {string} bytes in hexadecimal: "20 73"
 * @property {number} start first character of the text that its bytes belong to, from 0
 * @property {number} end the one after the last
 * @property {number | null} first_byte place of its first byte in the text; null where the tokenizer changes the text
 * @property {boolean} is_special whether it is a control token
 * @property {boolean} is_inserted whether the tokenizer put it around the text
 * @property {boolean} is_unknown whether it stands for text that no token spells
 * @property {boolean} is_partial whether its bytes are no whole characters
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
 * @property {string} facts one line
 * @property {string} note what is not shown, empty where all is
 * @property {ShownToken[]} tokens
 * @property {[label: string, making: number][]} pre_tokens
 * @property {Making[]} makings of all that differ
 * @property {number} first the token that is chosen at first
 */
/** @typedef {{side: Side, chosen: number, pointed: number | null}} TokensState `pointed`: the token under the pointer */
/** @typedef {{choose: (place: number) => void, point: (place: number | null) => void}} TokensActions */

export {};
