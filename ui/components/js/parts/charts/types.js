// What charts are described by: figures on the page, subplots in Plotly's figure, data and axes of one drawing.

/** @typedef {{look: string, text: string, title?: string}} LegendEntry `look` names its swatch in picture.css, `title` is said on hover */
/**
 * @typedef {object} FigureDefinition
 * @property {string} key
 * @property {string} name what a screen reader says
 * @property {string} term its entry in the glossary
 * @property {string} y_title of the vertical axis, in a saved picture
 * @property {string} [unit] of its ticks, where they do not say so themselves
 * @property {LegendEntry[]} legend
 */
/**
 * @typedef {object} SubplotDefinition
 * @property {string} figure key of the figure that it lies in
 * @property {number} number of its axes
 * @property {number} from share of the figure's width
 * @property {number} to
 * @property {boolean} zooms whether its x axis can be zoomed
 * @property {string} x_title
 * @property {boolean} [has_token_labels] whether tokens stand below it
 * @property {boolean} [is_bare] whether nothing stands below it
 */
/**
 * @typedef {object} Mark a label beside a line
 * @property {number} x
 * @property {number|null} y null: at the upper or lower end of the plot
 * @property {string} text
 * @property {string} colour name of a colour of the page
 * @property {'top' | 'bottom'} side
 */
/**
 * @typedef {object} DescribedFigure
 * @property {string} text one line on what is to be seen
 * @property {string} summary the same for a listener
 * @property {string[]} [labels] tokens below the bars
 * @property {Mark[]} marks
 * @property {string[]} absent texts of legend entries that are not on the chart just now
 * @property {Record<string, string>} [renamed] what legend entries are called just now, by their texts
 */
/**
 * @typedef {object} Described one drawing
 * @property {{x: (number|null)[], y: (number|null)[], base?: number, hovertext?: string[], customdata?: number[]}[]} data of all traces
 * @property {Record<string, any>} axes by Plotly's name
 * @property {Record<string, DescribedFigure>} figures by key
 */
/** @typedef {Record<string, string>} Look the colours in force, by name, and `font` */
/** @typedef {{left: number, top: number, width: number, height: number, inner_left: number, inner_top: number, font: number,
 *   outer_width: number, longest: number}} Box where a subplot lies; `longest`: the letters that a token's label has room for */
/**
 * What a group draws: its figures, subplots, styles, and how data become traces.
 * @template Properties
 * @typedef {object} Subject
 * @property {string} name
 * @property {FigureDefinition[]} figures
 * @property {SubplotDefinition[]} subplots
 * @property {boolean} animates whether only data and y ranges change from one drawing to the next
 * @property {number} gap_ms least time between two drawings while steps run by
 * @property {(look: Look) => object[]} styles of the traces, in the order of their data
 * @property {(properties: Properties, frame: {memory: Record<string, any>, places: number, is_calm: boolean}) => Described} describe
 * @property {(properties: Properties) => Record<string, string>} [texts] a figure's text by its key, if it must not wait for the next drawing
 */

export {};
