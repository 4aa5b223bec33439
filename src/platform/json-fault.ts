/** Where a text stops being JSON. */
export interface JsonFault {
  /** From 1. */
  line: number
  /** From 1, in UTF-16 code units. */
  column: number
  /** Whether the text is JSON as far as it goes, and breaks off. */
  isCutOff: boolean
}

/**
 * Finds the first fault of a text that JSON.parse refuses; null if it is JSON. A parser's own message quotes the text,
 * which may hold secrets; the place of the fault gives nothing away.
 */
export function jsonFault(text: string): JsonFault | null {
  const at = new JsonScanner(text).firstFault()
  if (at === null) return null
  let line = 1
  let lineStart = 0
  for (let end = text.indexOf('\n'); end !== -1 && end < at; end = text.indexOf('\n', lineStart)) {
    line++
    lineStart = end + 1
  }
  return { line, column: at - lineStart + 1, isCutOff: at === text.length }
}

type Wanted = 'value' | 'value or ]' | 'name' | 'name or }' | 'colon' | 'comma' | 'nothing'

const space = /[ \t\n\r]*/y
const plainCharacters = /[ !#-[\]-\uffff]*/y
/** Several at once, for speed; bounded, because each repetition takes room on the stack. */
const escapes = /(?:\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})[ !#-[\]-\uffff]{0,40}){1,1000}/y
const unfinishedEscape = /\\(?:u[0-9A-Fa-f]{0,3})?$/y
const scalar = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y
const unfinishedScalar = /(?:-|-?(?:0|[1-9]\d*)(?:\.|(?:\.\d+)?[eE][+-]?)|t|tr|tru|f|fa|fal|fals|n|nu|nul)$/y

/** Reads RFC 8259 without recursion and builds nothing. */
class JsonScanner {
  readonly #text: string
  #at = 0
  #wanted: Wanted = 'value'
  /** The brackets that are open, the innermost last. */
  readonly #open: ('{' | '[')[] = []

  constructor(text: string) {
    this.#text = text
  }

  /** Its offset; null if there is none. */
  firstFault(): number | null {
    do this.#skip(space)
    while (this.#at < this.#text.length && this.#step())
    return this.#at === this.#text.length && this.#wanted === 'nothing' ? null : this.#at
  }

  /** Reads a token; false where none fits, with `#at` on the fault. */
  #step(): boolean {
    const character = this.#text.charAt(this.#at)
    switch (this.#wanted) {
      case 'nothing':
        return false
      case 'colon':
        return character === ':' && this.#take('value')
      case 'comma':
        return character === ',' ? this.#take(this.#open.at(-1) === '{' ? 'name' : 'value') : this.#close(character)
      case 'name or }':
        return character === '}' ? this.#close(character) : this.#string('colon')
      case 'name':
        return this.#string('colon')
      case 'value or ]':
        return character === ']' ? this.#close(character) : this.#value(character)
      case 'value':
        return this.#value(character)
    }
  }

  #value(character: string): boolean {
    if (character === '{' || character === '[') {
      this.#open.push(character)
      return this.#take(character === '{' ? 'name or }' : 'value or ]')
    }
    if (character === '"') return this.#string(this.#afterValue())
    if (this.#skip(scalar)) return this.#now(this.#afterValue())
    this.#skip(unfinishedScalar)
    return false
  }

  #close(character: string): boolean {
    if (character !== (this.#open.at(-1) === '{' ? '}' : ']')) return false
    this.#open.pop()
    return this.#take(this.#afterValue())
  }

  #string(next: Wanted): boolean {
    if (this.#text.charAt(this.#at) !== '"') return false
    this.#at++
    do this.#skip(plainCharacters)
    while (this.#skip(escapes))
    if (this.#text.charAt(this.#at) === '"') return this.#take(next)
    this.#skip(unfinishedEscape)
    return false
  }

  #afterValue(): Wanted {
    return this.#open.length === 0 ? 'nothing' : 'comma'
  }

  #take(next: Wanted): true {
    this.#at++
    return this.#now(next)
  }

  #now(next: Wanted): true {
    this.#wanted = next
    return true
  }

  /** Goes on behind what the pattern finds here; false where it finds nothing. */
  #skip(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at
    if (!pattern.test(this.#text)) return false
    const isLonger = pattern.lastIndex > this.#at
    this.#at = pattern.lastIndex
    return isLonger
  }
}
