// The description of charts: figures on the page, subplots in Plotly's figure, data and axes of one drawing.

/**
 * @typedef {{look: string, text: string, title?: string}} LegendEntry `look` names its swatch in picture.css, `title`
 *   is shown on hover
 */
/**
 * @typedef {object} FigureDefinition
 * @property {string} key
 * @property {string} name the name for screen readers
 * @property {string} term the figure's entry in the glossary
 * @property {string} y_title title of the vertical axis in a saved picture
 * @property {string} [unit] of the ticks, if they do not name it
 * @property {LegendEntry[]} legend
 */
/**
 * @typedef {object} SubplotDefinition
 * @property {string} figure key of the figure that contains it
 * @property {number} number number of its axes
 * @property {number} from share of the figure's width
 * @property {number} to
 * @property {boolean} zooms whether its x axis can be zoomed
 * @property {string} x_title
 * @property {boolean} [has_token_labels] whether token labels are below it
 * @property {boolean} [is_bare] whether nothing is below it
 */
/**
 * @typedef {object} Mark a label next to a line
 * @property {number} x
 * @property {number|null} y null: at the upper or lower end of the plot
 * @property {string} text
 * @property {string} colour name of a colour of the page
 * @property {'top' | 'bottom'} side
 */
/**
 * @typedef {object} DescribedFigure
 * @property {string} text one line on the content
 * @property {string} summary the content for a listener
 * @property {string[]} [labels] tokens below the bars
 * @property {Mark[]} marks
 * @property {string[]} absent texts of legend entries that are currently not on the chart
 * @property {Record<string, string>} [renamed] current names of legend entries, by their texts
 */
/**
 * @typedef {object} Described one drawing
 * @property {{x: (number|null)[], y: (number|null)[], base?: number, hovertext?: string[], customdata?: number[]}[]} data of all traces
 * @property {Record<string, any>} axes by Plotly's name
 * @property {Record<string, DescribedFigure>} figures by key
 */
/** @typedef {Record<string, string>} Look the current colours, by name, and `font` */
/** @typedef
 *   {{left: number, top: number, width: number, height: number, inner_left: number, inner_top: number, font: number,
 *   outer_width: number, longest: number}} Box a subplot's position; `longest`: the number of letters that fit into a
 *   token's label */
/**
 * The content of a group: its figures, subplots, styles, and the way data become traces.
 * @template Properties
 * @typedef {object} Subject
 * @property {string} name
 * @property {FigureDefinition[]} figures
 * @property {SubplotDefinition[]} subplots
 * @property {boolean} animates whether only data and y ranges change from one drawing to the next
 * @property {boolean} [moves] whether it consists of bars, lines and surfaces on linear axes, which can be moved
 * @property {number} gap_ms minimum time between two drawings while steps run by
 * @property {(look: Look) => object[]} styles of the traces, in the order of their data
 * @property
 *   {(properties: Properties, frame: {memory: Record<string, any>, places: number, is_calm: boolean}) => Described}
 *   describe
 * @property {(properties: Properties) => Record<string, string>} [texts] a figure's text by its key, if it must not
 *   wait for the next drawing
 */

export {};
