import { SternaError } from '../../platform/errors.ts'

/** What rendering may cost. */
interface RenderLimits {
  /** characters of one part: of the html, the text, the subject */
  length: number
  /** tags, list entries, look-ups; some tenths of a microsecond each */
  steps: number
}

/** The maximum for an email's html or text. */
const ordinary: RenderLimits = { length: 5 * 1024 * 1024, steps: 100_000 }

/** Rendering would cost too much; `budget` is the exhausted one. */
export class OverBudget extends SternaError {
  readonly budget: RenderBudget

  constructor(message: string, budget: RenderBudget) {
    super('validation_error', message)
    this.budget = budget
  }
}

/** Counts the cost of rendering: nested sections can repeat a little data endlessly. */
export class RenderBudget {
  readonly #limits: RenderLimits
  readonly #outer: RenderBudget | null
  #steps = 0
  #length = 0

  /** @param outer a budget shared by several renderings */
  constructor({ limits = ordinary, outer = null }: { limits?: RenderLimits; outer?: RenderBudget | null } = {}) {
    this.#limits = limits
    this.#outer = outer
  }

  /** @throws OverBudget */
  step(): void {
    this.#steps++
    if (this.#steps > this.#limits.steps) {
      throw new OverBudget('The template repeats too much with these variables. Give it shorter lists, or nest fewer sections.', this)
    }
    this.#outer?.step()
  }

  /**
   * Counts written characters.
   * @throws OverBudget
   */
  write(characters: number): void {
    this.#length += characters
    if (this.#length > this.#limits.length) {
      throw new OverBudget(`With these variables the template becomes longer than ${ordinary.length / 1024 / 1024} MiB.`, this)
    }
    this.#outer?.write(characters)
  }

  /** The next part of the email has its own length; the steps accumulate. */
  nextPart(): void {
    this.#length = 0
  }
}
