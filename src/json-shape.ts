/** Deeper nesting than anything the API takes, and ten times the values that the largest request has. */
const requestBounds = { deepest: 64, mostValues: 50_000 }

const quotationMark = 0x22
const comma = 0x2c
const colon = 0x3a
const openBracket = 0x5b
const backslash = 0x5c
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

/**
 * Watches JSON as it arrives, so that nesting and the number of values are known before a parser builds them: 35 MiB of
 * brackets would keep one busy for seconds, and fill gigabytes. Whether it is valid JSON is for the parser to say.
 */
export class JsonShape {
  readonly #bounds: { deepest: number; mostValues: number }
  #depth = 0
  #values = 0
  #isInString = false
  /** In a string, where the last chunk ended with a backslash that escapes what follows. */
  #isEscaping = false

  /** `bounds`: those of a request where not given. */
  constructor(bounds = requestBounds) {
    this.#bounds = bounds
  }

  /** Takes the next piece; says why the whole is refused, null while it is not. */
  add(chunk: Uint8Array): string | null {
    const { deepest, mostValues } = this.#bounds
    for (let at = this.#isInString ? this.#stringEnd(chunk, 0) : 0; at < chunk.length; at++) {
      switch (chunk[at]) {
        case quotationMark:
          this.#isInString = true
          at = this.#stringEnd(chunk, at + 1) - 1
          break
        case openBracket:
        case openBrace:
          if (++this.#depth > deepest) return `The JSON is nested more than ${deepest} levels deep.`
          this.#values++
          break
        case closeBracket:
        case closeBrace:
          this.#depth--
          break
        case comma:
        case colon:
          if (++this.#values > mostValues) return `The JSON has more than ${mostValues} values.`
      }
    }
    return null
  }

  /** Where the string that goes on at `from` has ended, after its quotation mark; the chunk's end where it has not. */
  #stringEnd(chunk: Uint8Array, from: number): number {
    for (let at = from; ;) {
      const quote = chunk.indexOf(quotationMark, at)
      const end = quote === -1 ? chunk.length : quote
      let start = end
      while (start > from && chunk[start - 1] === backslash) start--
      // Backslashes escape one another in pairs; the run may have begun in the last chunk.
      const before = start === from && this.#isEscaping ? 1 : 0
      const isEscaped = (before + end - start) % 2 === 1
      if (quote === -1) {
        this.#isEscaping = isEscaped
        return end
      }
      if (!isEscaped) {
        this.#isInString = false
        this.#isEscaping = false
        return quote + 1
      }
      at = quote + 1
    }
  }
}
