import { SternaError } from '../errors.ts'

/** What a rendering may cost. */
interface RenderLimits {
  /** characters of one part: of the html, the text, the subject */
  length: number
  /** tags met, entries gone through, places looked in; some tenths of a microsecond each */
  steps: number
}

/** As much as an email's html or text may have. */
const ordinary: RenderLimits = { length: 5 * 1024 * 1024, steps: 100_000 }

/** The rendering would cost too much; `budget` is the one that was used up. */
export class OverBudget extends SternaError {
  readonly budget: RenderBudget

  constructor(message: string, budget: RenderBudget) {
    super('validation_error', message)
    this.budget = budget
  }
}

/** Counts what a rendering costs: small data can be repeated by nested sections without end. */
export class RenderBudget {
  readonly #limits: RenderLimits
  readonly #outer: RenderBudget | null
  #steps = 0
  #length = 0

  /** @param outer what several renderings may cost together */
  constructor({ limits = ordinary, outer = null }: { limits?: RenderLimits; outer?: RenderBudget | null } = {}) {
    this.#limits = limits
    this.#outer = outer
  }

  /** @throws OverBudget */
  step(): void {
    this.#steps++
    if (this.#steps > this.#limits.steps) {
      throw new OverBudget(
        'The template repeats too much with these variables. Give it shorter lists, or fewer sections in one another.',
        this,
      )
    }
    this.#outer?.step()
  }

  /**
   * Takes note of so many characters written.
   * @throws OverBudget
   */
  write(characters: number): void {
    this.#length += characters
    if (this.#length > this.#limits.length) {
      throw new OverBudget(`With these variables the template becomes longer than ${ordinary.length / 1024 / 1024} MiB.`, this)
    }
    this.#outer?.write(characters)
  }

  /** The next part of the email has its own length; the steps go on. */
  nextPart(): void {
    this.#length = 0
  }
}
