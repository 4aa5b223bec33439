import { SternaError } from '../errors.ts'

/** bytes; as much as an email's html or text may have */
export const longestRendered = 5 * 1024 * 1024

/** Some tenths of a microsecond each. */
const mostSteps = 100_000

/** What a rendering may cost: small data can be repeated by nested sections without end. */
export class RenderBudget {
  #steps = 0
  #length = 0

  /** @throws SternaError `validation_error` */
  step(count: number): void {
    this.#steps += count
    if (this.#steps <= mostSteps) return
    throw new SternaError('validation_error', 'The template repeats too much with these variables. Give it shorter lists, or fewer sections in one another.')
  }

  /**
   * Takes note of so many characters written.
   * @throws SternaError `validation_error`
   */
  write(characters: number): void {
    this.#length += characters
    if (this.#length <= longestRendered) return
    throw new SternaError('validation_error', `With these variables the template becomes longer than ${longestRendered / 1024 / 1024} MiB.`)
  }

  /** The next part of the email has its own length; the steps go on. */
  nextPart(): void {
    this.#length = 0
  }
}
