import { formatReply, type Reply } from '../../platform/smtp/reply.ts'
import type { TranscriptLine } from './attempt.ts'

const maxLines = 60
const maxLinesOfReply = 10
/** characters */
const maxLineLength = 400

/** One attempt's stored dialogue: short, without message data. */
export class Transcript {
  readonly lines: TranscriptLine[] = []
  readonly #startedAt = performance.now()

  client(line: string): void {
    this.#add('c', line)
  }

  /** @param inOneLine leaves only the first word of every line: what a host offers */
  server(reply: Reply, inOneLine = false): void {
    if (!reply.text.includes('\n')) return this.#add('s', formatReply(reply))
    const texts = reply.text.split('\n')
    if (inOneLine) return this.#add('s', `${reply.code} ${texts.map((text) => text.split(' ', 1)[0]).join(' ')}`)
    texts.slice(0, maxLinesOfReply).forEach((text, i) => this.#add('s', `${reply.code}${i < texts.length - 1 ? '-' : ' '}${text}`))
  }

  /** A remark outside the dialogue, in parentheses. */
  note(text: string): void {
    this.#add('c', `(${text})`)
  }

  #add(side: 'c' | 's', line: string): void {
    if (this.lines.length === maxLines) return
    this.lines.push([
      Math.round(performance.now() - this.#startedAt),
      side,
      line.length > maxLineLength ? line.slice(0, maxLineLength) : line,
    ])
  }
}

/** The attempt for which something is done. */
export interface AttemptContext {
  /** When its job was created, epoch ms, by the queue's clock. */
  at: number
  transcript: Transcript
  /** performance.now() at which its time is over. */
  endsAt: number
  /** The recipient's domain, if reports on TLS count the sessions that are opened for it; default: null. */
  reportedFor?: string | null
}
