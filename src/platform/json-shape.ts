/** Deeper than anything the API accepts, and ten times the values of the largest request. */
const requestBounds: ShapeBounds = { deepest: 64, maxValues: 50_000 }

interface ShapeBounds {
  deepest: number
  maxValues: number
  /** A file may be a list of its bytes, so numbers of up to three digits in a list do not count as values. */
  listsBytes?: boolean
}

const quotationMark = 0x22
const comma = 0x2c
const colon = 0x3a
const openBracket = 0x5b
const backslash = 0x5c
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d
const [zero, nine, space] = [0x30, 0x39, 0x20]

/** More digits than a byte has. */
const noByte = 4

function digitsIn(character: number): number {
  if (character >= zero && character <= nine) return 1
  return character <= space ? 0 : noByte
}

const tooMany = (maxValues: number): string => `The JSON has more than ${maxValues} values.`

/**
 * Measures nesting and the number of values as JSON arrives, before a parser builds them: 35 MiB of brackets would take it seconds and
 * gigabytes. Leaves validation to the parser.
 */
export class JsonShape {
  readonly #bounds: ShapeBounds
  #depth = 0
  #values = 0
  #isInString = false
  /** Inside a string, after a chunk that ended with an escaping backslash. */
  #isEscaping = false
  /** Digits so far of a list's element. More than three stand for anything that is not a byte. */
  #digits = noByte

  /** `bounds`: those of a request by default */
  constructor(bounds: Partial<ShapeBounds> = {}) {
    this.#bounds = { ...requestBounds, ...bounds }
  }

  /** Takes the next piece. Returns why the JSON is refused; null while it is not. */
  add(chunk: Uint8Array): string | null {
    const { deepest, maxValues, listsBytes = false } = this.#bounds
    for (let at = this.#isInString ? this.#stringEnd(chunk, 0) : 0; at < chunk.length; at++) {
      switch (chunk[at]) {
        case quotationMark:
          this.#isInString = true
          this.#digits = noByte
          at = this.#stringEnd(chunk, at + 1) - 1
          break
        case openBracket:
        case openBrace:
          if (++this.#depth > deepest) return `The JSON is nested more than ${deepest} levels deep.`
          this.#values++
          this.#digits = chunk[at] === openBracket ? 0 : noByte
          break
        case closeBracket:
        case closeBrace:
          this.#depth--
          this.#digits = noByte
          break
        case comma: {
          const isByte = listsBytes && this.#digits >= 1 && this.#digits <= 3
          this.#digits = 0
          if (!isByte && ++this.#values > maxValues) return tooMany(maxValues)
          break
        }
        case colon:
          if (++this.#values > maxValues) return tooMany(maxValues)
          break
        default:
          this.#digits += digitsIn(chunk[at]!)
      }
    }
    return null
  }

  /** Where the string that continues at `from` ends, after its quotation mark; the chunk's end if it does not. */
  #stringEnd(chunk: Uint8Array, from: number): number {
    for (let at = from; ;) {
      const quote = chunk.indexOf(quotationMark, at)
      const end = quote === -1 ? chunk.length : quote
      let start = end
      while (start > from && chunk[start - 1] === backslash) start--
      // Backslashes escape one another in pairs. The run may have begun in the last chunk.
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
