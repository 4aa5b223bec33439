/** A server's reply (RFC 5321 4.2, RFC 3463). */
export interface Reply {
  /** Three digits: 200 … 599 if the server keeps to the protocol. */
  code: number
  /** `5.1.1`, or null if the server gave none. */
  enhancedStatus: string | null
  /** The text lines without codes, joined by a line feed; the end of a long text is cut off. */
  text: string
}

/** What came instead of a reply. */
interface NoReply {
  fault: string
  /** True if it goes on for ever; otherwise a reply may still follow. */
  isEndless: boolean
}

interface ReplyLine {
  code: number
  /** True if another line of the same reply follows. */
  more: boolean
  /** True if the code stands where RFC 5321 4.2.1 allows none, so it may be a number in a text. */
  isLoose: boolean
  text: string
}

/** What is kept of a line, bytes. RFC 5321 4.5.3.1.5 allows 512; longer ones occur. */
const keptOfLine = 4096
const keptLines = 500
/** What is kept of a reply, bytes */
const keptOfReply = 16 * 1024
/** bytes of one reply, kept or not */
const maxReplyLength = 4 * 1024 * 1024
/** Lines of one reply, kept or not: short ones take long to read. */
const maxReplyLines = 10_000

const nothing = Buffer.alloc(0)
const lineFeed = 10
const carriageReturn = 13
const controls = /(?!\t)\p{Cc}/u
/** Three digits that no digit follows, whatever does. RFC 5321 4.2.1 allows a space, a hyphen and the end of the line. */
const codeAtStart = /^\s*(\d{3})(?!\d)/
const strictLine = /^\d{3}[ -]/
const codeLength = 3
const strictSeparators = ' -'
const separators = `${strictSeparators}:\t`

/** Parses one line without its line end; null if no code begins it. Control characters become `?`. */
export function parseReplyLine(line: string): ReplyLine | null {
  // What nearly all lines look like.
  if (strictLine.test(line)) {
    return {
      code: Number(line.slice(0, codeLength)),
      more: line.charAt(codeLength) === '-',
      isLoose: false,
      text: withoutControls(line.slice(codeLength + 1)),
    }
  }
  const found = codeAtStart.exec(line)
  if (!found) return null
  const separator = line.charAt(found[0].length)
  const text = line.slice(found[0].length + (separators.includes(separator) ? 1 : 0))
  const isLoose = found[0].length > codeLength || !strictSeparators.includes(separator)
  return { code: Number(found[1]), more: separator === '-', isLoose, text: withoutControls(text) }
}

const classOf = (code: number): number => Math.floor(code / 100)

const withoutControls = (text: string): string => (controls.test(text) ? text.replace(new RegExp(controls, 'gu'), '?') : text)

/** The enhanced status at the start of a text, if it fits the reply's class (RFC 2034 4). */
export function enhancedStatusOf(code: number, text: string): string | null {
  const found = /^([245])\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})(?!\S)/.exec(text)
  return found && Number(found[1]) === Math.floor(code / 100) ? found[0] : null
}

function firstStatusIn(code: number, lines: string[]): string | null {
  for (const line of lines) {
    const status = enhancedStatusOf(code, line)
    if (status !== null) return status
  }
  return null
}

/** For display: `550 5.1.1 No such user`, lines joined by spaces. */
export const formatReply = (reply: Reply): string => `${reply.code} ${reply.text.replaceAll('\n', ' ')}`.trimEnd()

/**
 * Parses replies from a server's bytes, however they are split and whatever stands around the codes: the code of the last line decides.
 * Accepts a bare line feed as the end of a line. Limits how much a server can make us hold.
 */
export class ReplyReader {
  #bytes: Buffer = nothing
  /** How many of these bytes are parsed. */
  #parsed = 0
  #lines: string[] = []
  /** Of the reply so far. */
  #firstCode = 0
  /** True if a line without a code came instead of the reply. */
  #isAfterText = false
  /** Of the lines kept, characters. */
  #kept = 0
  /** Of the reply so far, bytes. */
  #size = 0
  /** Of the reply so far, lines. */
  #count = 0

  /** @param chunk may be written over once `take` has returned null */
  push(chunk: Buffer): void {
    this.#bytes = this.#pending === 0 ? chunk : Buffer.concat([this.#bytes.subarray(this.#parsed), chunk])
    this.#parsed = 0
  }

  /** True if bytes arrived after the replies already taken. */
  get hasMore(): boolean {
    return this.#pending > 0 || this.#size > 0
  }

  /** Bytes not parsed yet. */
  get #pending(): number {
    return this.#bytes.length - this.#parsed
  }

  /** True if the next reply has begun with a line that has a code. */
  get hasBegun(): boolean {
    return this.#lines.length > 0
  }

  /** The next reply, or what came instead; null until it is complete. */
  take(): Reply | NoReply | null {
    for (;;) {
      const start = this.#parsed
      const end = this.#bytes.indexOf(lineFeed, start)
      if (this.#size + (end === -1 ? this.#pending : end - start) > maxReplyLength || this.#count > maxReplyLines)
        return { fault: 'the reply does not end', isEndless: true }
      if (end === -1) {
        this.#keepPending()
        return null
      }
      const textEnd = end > start && this.#bytes[end - 1] === carriageReturn ? end - 1 : end
      const text = this.#bytes.toString('utf8', start, Math.min(start + keptOfLine, textEnd))
      this.#parsed = end + 1
      this.#size += end + 1 - start
      this.#count++
      const taken = this.#takeLine(text)
      if (taken) return taken
    }
  }

  /** Of an unfinished line only the beginning is of use. */
  #keepPending(): void {
    this.#size += Math.max(0, this.#pending - keptOfLine)
    this.#bytes = this.#pending === 0 ? nothing : Buffer.from(this.#bytes.subarray(this.#parsed, this.#parsed + keptOfLine))
    this.#parsed = 0
  }

  #takeLine(bytes: string): Reply | NoReply | null {
    const line = this.#lineIn(bytes)
    if (!line) {
      if (bytes.trim() === '') return null
      if (!this.hasBegun) {
        this.#isAfterText = true
        return { fault: `not a reply: ${JSON.stringify(bytes.slice(0, 100))}`, isEndless: false }
      }
    }
    // A line without a code in the middle of a reply is a part of its text.
    this.#keep(line?.text ?? withoutControls(bytes))
    if (!line || line.more) return null
    const { code } = line
    const text = this.#lines.length === 1 ? line.text : this.#lines.join('\n')
    const enhancedStatus = firstStatusIn(code, this.#lines) ?? enhancedStatusOf(code, line.text)
    this.#lines = []
    this.#kept = 0
    this.#size = 0
    this.#count = 0
    this.#isAfterText = false
    return { code, enhancedStatus, text }
  }

  /** Behind other text, `250 MB is the limit` is text as well, and no code. */
  #lineIn(bytes: string): ReplyLine | null {
    const line = parseReplyLine(bytes)
    if (!line) return null
    if (line.isLoose && (this.hasBegun ? classOf(line.code) !== classOf(this.#firstCode) : this.#isAfterText)) return null
    if (!this.hasBegun) this.#firstCode = line.code
    return line
  }

  #keep(text: string): void {
    if (this.#lines.length === keptLines || this.#kept > keptOfReply) return
    this.#lines.push(text)
    this.#kept += text.length
  }
}
