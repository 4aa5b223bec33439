interface Read {
  /** The bytes of the message, as far as they are certain. */
  content: Buffer
  /** What follows the end of the message; null before its end. */
  rest: Buffer | null
}

const lineAndDot = Buffer.from('\n.')
const empty = Buffer.alloc(0)
const [lf, cr, dot] = [10, 13, 46]
/** The end of a piece that the next one may make the end of the message, or a line whose first dot was stuffed. */
const undecided = /(?:\r\n\.\r|\r?\n\.?|\r)$/
const undecidedAtStart = /^(?:\.\r?)?$/

/**
 * Reads what follows DATA, in pieces cut anywhere: finds the end of the message, and takes away the dots that were stuffed (RFC 5321 4.5.2).
 * Only CR LF `.` CR LF ends a message. A second dot at the beginning of a line goes also after a bare LF.
 */
export class DotReader {
  #isStart = true
  /** The undecided end of the pieces so far, fewer than five bytes. */
  #held: Buffer = empty

  read(piece: Buffer): Read {
    const bytes = this.#held.length > 0 ? Buffer.concat([this.#held, piece]) : piece
    this.#held = empty
    if (!this.#isStart) return this.#readFrom(bytes, 0)
    if (bytes.length < 3 && undecidedAtStart.test(bytes.toString('latin1'))) {
      this.#held = bytes
      return { content: empty, rest: null }
    }
    this.#isStart = false
    if (bytes[0] === dot && bytes[1] === cr && bytes[2] === lf) return { content: empty, rest: bytes.subarray(3) }
    return this.#readFrom(bytes, bytes[0] === dot && bytes[1] === dot ? 1 : 0)
  }

  #readFrom(bytes: Buffer, start: number): Read {
    let from = start
    const kept: Buffer[] = []
    for (let at = bytes.indexOf(lineAndDot, start); at !== -1; at = bytes.indexOf(lineAndDot, at + 2)) {
      const isEnd = bytes[at - 1] === cr && bytes[at + 2] === cr && bytes[at + 3] === lf
      if (!isEnd && bytes[at + 2] !== dot) continue
      kept.push(bytes.subarray(from, at + 1))
      from = at + 2
      if (isEnd) return { content: joined(kept), rest: bytes.subarray(at + 4) }
    }
    const heldBytes = undecided.exec(bytes.toString('latin1', Math.max(from, bytes.length - 4)))?.[0].length ?? 0
    this.#held = bytes.subarray(bytes.length - heldBytes)
    kept.push(bytes.subarray(from, bytes.length - heldBytes))
    return { content: joined(kept), rest: null }
  }
}

const joined = (pieces: Buffer[]): Buffer => (pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces))
