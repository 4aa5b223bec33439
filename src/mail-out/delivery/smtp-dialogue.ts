import type { Socket } from 'node:net'
import { formatReply, ReplyReader, type Reply } from '../../platform/smtp/reply.ts'
import type { BounceCategory } from '../../mail/bounce-parser/refusal.ts'
import { standardTimeouts, type DeliveryTimeouts } from './delivery-timeouts.ts'
import { isDecisive } from './outcome.ts'
import { connectionFault, isOutOfSockets, isTlsFault } from './tls-policy.ts'
import type { Transcript } from './transcript.ts'

/** The connection is gone, or cannot be understood any more; nothing more will be heard. */
export interface Broken {
  broken: string
  category: BounceCategory
  /** True if there was no connection because this process may open no more sockets. */
  isOutOfSockets?: boolean
  /** True if this machine does not have the address to connect from. */
  lacksSource?: boolean
  /** True if TLS itself failed, and will fail again. */
  isTlsFault?: boolean
  /** What the host answered to the whole message, if that was not nothing. */
  instead?: string
}

export type Heard = Reply | Broken

interface Waiting {
  timeoutMs: number
  what: string
  heard: (heard: Heard) => void
  /** True if it answers the message: then only a reply that decides is heard. */
  isDot: boolean
}

type Taken = NonNullable<ReturnType<ReplyReader['take']>>

/** characters */
const maxQuoteLength = 200
/** What may come instead of one reply, in pieces: a host may write as fast as it can. */
const maxInstead = 1_000

/**
 * Commands and replies over one socket. Replies reach their waiters in order, each within its time. A reply that nobody waits for breaks
 * the dialogue, because afterwards no reply could be matched to its command (and bytes sent ahead of a TLS handshake would count as sent
 * under it, CVE-2011-0411).
 */
export class SmtpDialogue {
  transcript: Transcript
  /** performance.now() after which nothing waits any more. */
  endsAt = Infinity
  /** Called once, when the dialogue breaks. */
  onBroken: () => void = () => {}
  readonly socket: Socket
  readonly #reader = new ReplyReader()
  readonly #waiting: Waiting[] = []
  #broken: Broken | null = null
  #deadline = Infinity
  #what = ''
  #timer: NodeJS.Timeout | null = null
  #timerAt = Infinity
  /** True once all of the message was written. */
  #isContentWritten = false
  /** The first that came instead of the awaited reply. */
  #instead: string | null = null
  #insteadCount = 0
  readonly #afterthoughtMs: number

  constructor(socket: Socket, transcript: Transcript, afterthoughtMs = standardTimeouts.afterthought) {
    this.socket = socket
    this.transcript = transcript
    this.#afterthoughtMs = afterthoughtMs
    socket.on('data', this.onData).on('end', this.#onEnd).on('error', this.#onError).on('close', this.#onEnd)
  }

  get broken(): Broken | null {
    return this.#broken
  }

  /** Sends several commands in one write. */
  send(commands: string[]): void {
    if (this.#broken) return
    for (const command of commands) this.transcript.client(command)
    this.socket.write(`${commands.join('\r\n')}\r\n`)
  }

  /** One line that must not be in the transcript, which gets `shown` instead. */
  sendHidden(line: string, shown: string): void {
    if (this.#broken) return
    this.transcript.client(shown)
    this.socket.write(`${line}\r\n`)
  }

  /** The next reply that nobody waits for yet. Never rejects. */
  reply(timeoutMs: number, what: string, isDot = false): Promise<Heard> {
    return new Promise((heard) => this.hear({ timeoutMs, what, heard, isDot }))
  }

  /** Calls `heard` with the next reply that nobody waits for yet, or with why there is none. */
  hear(waiting: Waiting): void {
    if (this.#broken) return waiting.heard(this.#broken)
    this.#waiting.push(waiting)
    if (this.#waiting.length === 1) this.allow(waiting.timeoutMs, waiting.what)
  }

  /**
   * Writes blocks no faster than the peer takes them, each within its time, and returns the reply that decides, which may come before
   * the end; null, and the connection is broken, if the message may not end any more.
   * `written`: called once the system has taken the last block.
   */
  async content(
    blocks: Iterator<Uint8Array[]>,
    { block: blockMs, dot: replyMs }: Pick<DeliveryTimeouts, 'block' | 'dot'>,
    { written, mayEnd }: { written: () => void; mayEnd: () => boolean },
  ): Promise<(Heard & { early?: boolean }) | null> {
    let early: Heard | null = null
    let block = blocks.next()
    let next = blocks.next()
    this.#isContentWritten = false
    const reply = this.reply(next.done ? replyMs : blockMs, 'the end of the message data', true)
    for (let i = 0; !block.done; i++) {
      if (next.done && !mayEnd()) {
        this.break('the message was not sent to its end')
        return null
      }
      const last = next.done ? block.value.pop() : undefined
      if (block.value.length > 0) this.socket.cork()
      for (const part of block.value) this.socket.write(part)
      if (last) this.socket.write(last, () => written())
      this.socket.uncork()
      if (next.done) {
        if (i > 0) this.allow(replyMs, 'the end of the message data')
        this.#isContentWritten = true
        break
      }
      if (i === 0) void reply.then((heard) => (early = heard))
      this.allow(blockMs, 'taking the message data')
      if (this.socket.writableNeedDrain) await Promise.race([this.#drained(), reply])
      if (early) return { ...(early as Heard), early: true }
      block = next
      next = blocks.next()
    }
    // The content must not stay in memory while we wait for the reply.
    block = next
    return reply
  }

  /** Gives the awaited reply this much time from now on. */
  allow(timeoutMs: number, what: string): void {
    // One timer per connection, moved only when it would fire too late: most deadlines never come.
    this.#deadline = Math.min(performance.now() + timeoutMs, this.endsAt)
    this.#what = what
    if (this.#timer && this.#timerAt <= this.#deadline) return
    if (this.#timer) clearTimeout(this.#timer)
    this.#arm()
  }

  /** Releases the socket, so that a TLS handshake can use it. */
  detach(): Socket {
    this.#stopTimer()
    this.#broken = { broken: 'the connection went on under TLS', category: 'other' }
    this.socket.off('data', this.onData).off('end', this.#onEnd).off('error', this.#onError).off('close', this.#onEnd)
    return this.socket
  }

  /** Says goodbye and waits for nothing. */
  quit(): void {
    if (this.#broken) return
    this.#stopTimer()
    this.#broken = { broken: 'the connection was closed', category: 'other' }
    this.socket.end('QUIT\r\n')
    // A peer that never closes its side must not hold ours.
    this.socket.setTimeout(5000, () => this.socket.destroy())
  }

  break(
    reason: string,
    category: BounceCategory = 'other',
    more: Pick<Broken, 'isOutOfSockets' | 'lacksSource' | 'isTlsFault'> = {},
  ): void {
    if (this.#broken) return
    const isDot = this.#waiting[0]?.isDot === true
    this.#broken = { broken: reason, category, ...more }
    if (this.#instead !== null && !isDot) this.#broken = { broken: notUnderstood(this.#instead), category: 'other' }
    this.#stopTimer()
    this.socket.destroy()
    if (isDot && this.#isContentWritten) this.#hearOut(this.#broken)
    for (const { heard } of this.#waiting.splice(0)) heard(this.#broken)
    this.onBroken()
  }

  /** For a socket without `data` events. @param chunk may be written over afterwards */
  readonly onData = (chunk: Buffer): void => {
    if (this.#broken) return
    this.#reader.push(chunk)
    for (let taken = this.#reader.take(); taken; taken = this.#reader.take()) {
      const [next] = this.#waiting
      // If several are awaited, nobody knows which one it stands for.
      if ('fault' in taken && (taken.isEndless || this.#waiting.length !== 1)) return this.break(notUnderstood(taken.fault))
      if ('fault' in taken || (next?.isDot && !isDecisive(taken))) this.#onNoAnswer(taken)
      else if (!this.#give(taken)) return this.break(`the host spoke out of turn: ${taken.code} ${taken.text}`)
    }
    if (this.#reader.hasMore && this.#waiting.length === 0) this.break('the host spoke out of turn')
  }

  /** To who waits for it; false if nobody does. */
  #give(reply: Reply): boolean {
    const next = this.#waiting.shift()
    this.transcript.server(reply, next?.what === 'EHLO')
    if (!next) return false
    this.#instead = null
    this.#insteadCount = 0
    const following = this.#waiting[0]
    if (following) this.allow(following.timeoutMs, following.what)
    else this.#deadline = Infinity
    next.heard(reply)
    return true
  }

  /** What came answers nothing; the answer may still come. */
  #onNoAnswer(taken: Taken): void {
    if (++this.#insteadCount > maxInstead) return this.break(notUnderstood(quoted(taken)))
    this.transcript.note(quoted(taken))
    const isEarly = this.#waiting[0]?.isDot === true && !this.#isContentWritten
    if (isEarly || this.#instead !== null) return
    this.#instead = quoted(taken)
    this.allow(this.#afterthoughtMs, this.#what)
  }

  /** The connection is gone while the message waits for its answer: the line that was not ended counts. */
  #hearOut(broken: Broken): void {
    this.#reader.push(lineEnd)
    const taken = this.#reader.take()
    if (taken && 'code' in taken && isDecisive(taken)) return void this.#give(taken)
    const instead = this.#instead ?? (taken && quoted(taken))
    if (instead) broken.instead = instead
    else if (this.#reader.hasBegun) broken.instead = 'a reply that does not end'
  }

  readonly #onEnd = (): void => this.break('the host closed the connection')

  readonly #onError = (error: NodeJS.ErrnoException): void => {
    const more = { isOutOfSockets: isOutOfSockets(error), lacksSource: error.code === 'EADDRNOTAVAIL', isTlsFault: isTlsFault(error) }
    this.break(`the connection failed: ${connectionFault(error)}`, 'other', more)
  }

  #drained(): Promise<void> {
    return new Promise((resolve) => this.socket.once('drain', resolve))
  }

  #arm(): void {
    this.#timerAt = this.#deadline
    this.#timer = setTimeout(this.#onTime, Math.max(0, this.#deadline - performance.now()) + 1)
  }

  readonly #onTime = (): void => {
    this.#timer = null
    if (this.#deadline === Infinity) return
    if (performance.now() >= this.#deadline) this.break(`time-out: no answer to ${this.#what}`, 'timeout')
    else this.#arm()
  }

  #stopTimer(): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
  }
}

const lineEnd = Buffer.from('\n')

const notUnderstood = (what: string): string => `the host's answer cannot be understood: ${what}`

const quoted = (taken: Taken): string => ('fault' in taken ? taken.fault : JSON.stringify(formatReply(taken).slice(0, maxQuoteLength)))
