/** A piece of JSON text that may be an entry. */
interface JsonEntry {
  /** The line where it begins. */
  line: number
  /** An object, or a string. */
  text: string
}

interface Collected extends JsonEntry {
  /** How many brackets were open when it began. */
  depth: number
}

/** An entry has a few hundred characters. Anything longer is something else. */
const maxEntryLength = 65_536
/** No service nests as deep, and each open bracket takes memory. */
const maxOpen = 1_000

/** characters, as their codes */
const [quote, backslash, newline] = [0x22, 0x5c, 0x0a]
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d]

/**
 * Finds the entries in JSON that arrives in pieces, so that a file of any size needs little memory. Entries are objects in a top-level
 * array or in a member of a top-level object (`[{…}]`, `{"items": [{…}]}`), objects on their own (one per line, or one after the other),
 * and strings in a top-level array (`["a@b.example"]`). `JSON.parse` does the validation.
 */
export class JsonEntries {
  /** The open brackets. */
  #open: number[] = []
  #line = 1
  #isInString = false
  #isEscaped = false
  /** The entry being collected, with its text so far. */
  #entry: Collected | null = null

  /** The entries that end in this piece. */
  add(piece: string): JsonEntry[] {
    const found: JsonEntry[] = []
    let start = 0
    for (let i = 0; i < piece.length; i++) {
      const code = piece.charCodeAt(i)
      if (code === newline) this.#line++
      if (this.#isInString) {
        if (this.#isEscaped) this.#isEscaped = false
        else if (code === backslash) this.#isEscaped = true
        else if (code === quote) {
          this.#isInString = false
          if (this.#entry?.depth === this.#open.length) found.push(this.#close(piece.slice(start, i + 1)))
        }
        continue
      }
      if (code === quote) {
        this.#isInString = true
        if (this.#open.length === 1 && this.#open[0] === openBracket) start = this.#begin(i)
      } else if (code === openBrace || code === openBracket) {
        if (code === openBrace && this.#isPlaceOfEntry()) start = this.#begin(i)
        if (this.#open.push(code) > maxOpen) throw new Error(`the brackets in line ${this.#line} are nested too deep`)
      } else if (code === closeBrace || code === closeBracket) {
        if (this.#open.pop() !== (code === closeBrace ? openBrace : openBracket))
          throw new Error(`the brackets do not match in line ${this.#line}`)
        if (code === closeBrace && this.#entry?.depth === this.#open.length) found.push(this.#close(piece.slice(start, i + 1)))
      }
    }
    this.#keep(piece.slice(start))
    return found
  }

  /** @throws Error if the text is incomplete */
  end(): void {
    if (this.#isInString || this.#open.length > 0) throw new Error('the JSON ends in the middle')
  }

  #isPlaceOfEntry(): boolean {
    const [first, second] = this.#open
    if (this.#open.length === 2) return first === openBrace && second === openBracket
    return this.#open.length === 0 || (this.#open.length === 1 && first === openBracket)
  }

  /** The enclosing object was a container of entries, not an entry. */
  #begin(at: number): number {
    this.#entry = { line: this.#line, depth: this.#open.length, text: '' }
    return at
  }

  #close(rest: string): JsonEntry {
    const { line, text } = this.#entry as Collected
    this.#entry = null
    return { line, text: text + rest }
  }

  #keep(rest: string): void {
    if (!this.#entry) return
    this.#entry.text += rest
    if (this.#entry.text.length <= maxEntryLength) return
    if (this.#entry.depth > 0) throw new Error(`an entry that begins in line ${this.#entry.line} is too long`)
    // A container with a lot of data in front of its entries.
    this.#entry = null
  }
}
