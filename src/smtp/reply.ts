/** A server's reply (RFC 5321 4.2, RFC 3463). */
export interface Reply {
  /** 200 … 599 */
  code: number
  /** `5.1.1`, or null if the server gave none. */
  enhancedStatus: string | null
  /** The text lines without codes, joined by a line feed. */
  text: string
}

/** Bytes that are not a reply. Nothing after them can be parsed. */
interface ReplyFault {
  fault: string
}

interface ReplyLine {
  code: number
  /** True if another line of the same reply follows. */
  more: boolean
  text: string
}

/** bytes, without the line end. RFC 5321 4.5.3.1.5 allows 512; longer ones occur. */
const longestLine = 4096
const mostLines = 500
/** bytes of one reply */
const longestReply = 64 * 1024

const lineFeed = 10
const carriageReturn = 13
const controls = /(?!\t)\p{Cc}/u

/** Parses one line without its line end; null if it does not match RFC 5321 4.2.1. Control characters become `?`. */
export function parseReplyLine(line: string): ReplyLine | null {
  const code = Number(/^[2-5][0-9]{2}(?![^ -])/.exec(line)?.[0] ?? 0)
  if (code === 0) return null
  const text = line.slice(4)
  return { code, more: line[3] === '-', text: controls.test(text) ? text.replace(new RegExp(controls, 'gu'), '?') : text }
}

/** The enhanced status at the start of a text, if it fits the reply's class (RFC 2034 4). */
export function enhancedStatusOf(code: number, text: string): string | null {
  const found = /^([245])\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})(?!\S)/.exec(text)
  return found && Number(found[1]) === Math.floor(code / 100) ? found[0] : null
}

/** For display: `550 5.1.1 No such user`, lines joined by spaces. */
export const formatReply = (reply: Reply): string => `${reply.code} ${reply.text.replaceAll('\n', ' ')}`.trimEnd()

/**
 * Parses replies from a server's bytes, however they are split. Accepts a bare line feed as the end of a line, because some servers send
 * that. Limits how much a server can make us hold.
 */
export class ReplyReader {
  /** Bytes not parsed yet. */
  #pending: Buffer = Buffer.alloc(0)
  #code = 0
  #lines: string[] = []
  #size = 0
  #fault: ReplyFault | null = null

  push(chunk: Buffer): void {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk])
  }

  /** True if bytes arrived after the replies already taken. */
  get hasMore(): boolean {
    return this.#pending.length > 0 || this.#lines.length > 0
  }

  /** The next reply; null until it is complete. After a fault, returns that fault every time. */
  take(): Reply | ReplyFault | null {
    while (!this.#fault) {
      const end = this.#pending.indexOf(lineFeed)
      if ((end === -1 ? this.#pending.length : end) > longestLine + 1) return this.#fail('a line of the reply is too long')
      if (end === -1) return null
      const bytes = this.#pending.subarray(0, end > 0 && this.#pending[end - 1] === carriageReturn ? end - 1 : end)
      this.#pending = this.#pending.subarray(end + 1)
      const reply = this.#takeLine(bytes)
      if (reply) return reply
    }
    return this.#fault
  }

  #takeLine(bytes: Buffer): Reply | ReplyFault | null {
    const line = parseReplyLine(bytes.toString())
    if (!line) return this.#fail(`not a reply: ${JSON.stringify(bytes.toString('latin1', 0, 100))}`)
    if (this.#lines.length > 0 && line.code !== this.#code) return this.#fail('the lines of one reply have different codes')
    this.#code = line.code
    this.#lines.push(line.text)
    this.#size += bytes.length
    if (this.#lines.length > mostLines || this.#size > longestReply) return this.#fail('the reply is too long')
    if (line.more) return null
    const text = this.#lines.length === 1 ? line.text : this.#lines.join('\n')
    this.#lines = []
    this.#size = 0
    return { code: line.code, enhancedStatus: enhancedStatusOf(line.code, text), text }
  }

  #fail(fault: string): ReplyFault {
    this.#fault = { fault }
    this.#pending = Buffer.alloc(0)
    this.#lines = []
    return this.#fault
  }
}
