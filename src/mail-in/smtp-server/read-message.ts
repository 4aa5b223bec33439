import { isAscii } from 'node:buffer'
import { maxHeaderBytes } from '../../mail/message/header-block.ts'
import { hasShortLines, maxLineLength } from '../../mail/message/transfer-encoding.ts'
import { scanBytes } from '../../platform/smtp/scan-bytes.ts'
import type { ContentStream } from './content-stream.ts'
import type { ContentCollector } from './content-collector.ts'
import { SmtpRefusal, replyOf, tooBig } from './smtp-refusal.ts'

interface ReadMessageOptions {
  maxMessageBytes: number
  /** Called with the header section and the empty line after it; returns what to store instead; may throw a refusal. */
  completeHeader(header: Buffer): Uint8Array
}

interface BodyKind {
  hasEightBitBody: boolean
  /** Whether one of its lines is longer than hosts accept. */
  hasLongLine: boolean
}

/** Takes the bytes of a message; `add` may throw a refusal. */
type MessageCollector = Pick<ContentCollector, 'add' | 'isFull' | 'spill'>

/** The connection ended before the message did, so there is nobody to answer. */
export class ClientGone extends Error {
  constructor() {
    super('the client left before the message was complete')
    this.name = 'ClientGone'
  }
}

/** bytes of one message to check before other connections have their turn */
const turnSize = 64 * 1024
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

const headerEnd = Buffer.from('\r\n\r\n')
const lineEnd = Buffer.from('\r\n')
/** Bytes before a piece that may be the beginning of `headerEnd`. */
const tailSize = headerEnd.length - 1
const [lf, cr] = [10, 13]

/** RFC 5321 4.5.2 leaves NUL to the receiver, and some cut off the message there. */
const nulByte = new SmtpRefusal(replyOf(550, '5.6.0', 'The message contains a NUL byte. Encode binary content as base64'))

const howToEndLines = 'Every line must end with CR LF (RFC 5321 2.3.8). Have your program convert line ends before it sends'
const bareCr = new SmtpRefusal(replyOf(550, '5.6.11', `The message has a CR (byte 13) without LF after it. ${howToEndLines}`))
const dotBesideBareLf = new SmtpRefusal(
  replyOf(
    550,
    '5.6.11',
    `The message has a line with nothing but a dot, beside an LF (byte 10) without CR before it: it could be the end of the message. ${howToEndLines}`,
  ),
)

const oddBytes = { odd: true, loose: false }
/** The first of these is a bare CR, a bare LF or a NUL. */
const oddCharacter = /\r(?!\n|$)|(?<!\r)\n|\0/
const bareLf = /(?<!\r)\n/g
/** In a message with a bare LF. Programs have taken such a dot for the end of the message (SMTP smuggling, CVE-2023-51764). */
const refusedBesideLf = /\r(?!\n|$)|\0|(?<!\r)\n\.\r?\n|\n\.\n/g
/** Characters before a piece that decide what its first ones mean: three of such a dot's line and the one before it. */
const context = 4

/** Checks the bytes of a message as they arrive, in pieces of any size. */
class Intake {
  readonly #options: ReadMessageOptions
  readonly #collector: MessageCollector
  /** Until the header section is complete. */
  #header: Buffer[] | null = []
  #headerBytes = 0
  /** The last bytes of it, which may begin the empty line. One that comes first ends it, too: a message begins behind the line of DATA. */
  #headerTail = lineEnd
  #size = 0
  #hasBareLf = false
  /** The last characters before the next piece; a message begins behind the line of DATA. */
  #before = '\r\n'
  hasEightBitBody = false
  hasLongLine = false
  /** bytes of the body's last line so far */
  #lineSize = 0
  /** The first fault; the rest of the message is not checked. */
  fault: unknown = null

  constructor(collector: MessageCollector, options: ReadMessageOptions) {
    this.#collector = collector
    this.#options = options
  }

  add(piece: Buffer): void {
    if (this.fault !== null) return
    try {
      const lines = this.#withCrlf(piece)
      this.#size += lines.length
      if (this.#size > this.#options.maxMessageBytes) throw new SmtpRefusal(tooBig(this.#options.maxMessageBytes))
      if (this.#header) this.#addToHeader(this.#header, lines)
      else this.#addToBody(lines)
    } catch (error) {
      this.fault = error ?? new Error('unknown')
    }
  }

  end(): void {
    if (this.fault !== null) return
    try {
      if (this.#before.endsWith('\r')) throw bareCr
      // A message may consist of its header section alone (RFC 5322 3.5).
      if (this.#header) this.#collector.add(this.#options.completeHeader(Buffer.concat([...this.#header, lineEnd])))
    } catch (error) {
      this.fault = error ?? new Error('unknown')
    }
  }

  /** The piece with CRLF for each bare LF, as Postfix does with `smtpd_forbid_bare_newline = normalize`. */
  #withCrlf(piece: Buffer): Buffer {
    const before = this.#before
    this.#before = (before + piece.toString('latin1', Math.max(0, piece.length - context))).slice(-context)
    const odd = scanBytes(piece, oddBytes, { from: 0, to: piece.length, followsCr: before.endsWith('\r') })
    // What follows a CR at its end is in the next piece.
    const isPlain = odd === -1 || odd === piece.length
    return isPlain && !this.#hasBareLf ? piece : this.#mended(piece, before)
  }

  #mended(piece: Buffer, before: string): Buffer {
    const text = piece.toString('latin1')
    // A CR at the end of the previous piece belongs to this one.
    const cr = before.endsWith('\r') ? '\r' : ''
    const whole = cr === '' ? text : cr + text
    let refused = oddCharacter.exec(whole)?.[0]
    const isNormal = refused !== '\n'
    this.#hasBareLf ||= !isNormal
    if (this.#hasBareLf) {
      refusedBesideLf.lastIndex = Math.max(0, before.length - context + 1)
      refused = refusedBesideLf.exec(before + text)?.[0]
    }
    if (refused !== undefined) throw refused === '\0' ? nulByte : refused === '\r' ? bareCr : dotBesideBareLf
    return isNormal ? piece : Buffer.from(whole.replace(bareLf, '\r\n'), 'latin1').subarray(cr.length)
  }

  #addToHeader(header: Buffer[], piece: Buffer): void {
    const end = endOfHeader(this.#headerTail, piece)
    this.#headerBytes += end === -1 ? piece.length : end
    if (this.#headerBytes > maxHeaderBytes) {
      throw new SmtpRefusal(replyOf(550, '5.6.0', `The header section is larger than ${maxHeaderBytes} bytes`))
    }
    if (end === -1) {
      header.push(piece)
      this.#headerTail = Buffer.concat([this.#headerTail, piece.subarray(-tailSize)]).subarray(-tailSize)
      return
    }
    this.#header = null
    const last = piece.subarray(0, end)
    this.#collector.add(this.#options.completeHeader(header.length === 0 ? last : Buffer.concat([...header, last])))
    if (end < piece.length) this.#addToBody(piece.subarray(end))
  }

  #addToBody(bytes: Buffer): void {
    this.hasEightBitBody ||= !isAscii(bytes)
    this.#measureLines(bytes)
    this.#collector.add(bytes)
  }

  #measureLines(bytes: Buffer): void {
    const [first, last] = [bytes.indexOf(lf), bytes.lastIndexOf(lf)]
    const begun = this.#lineSize + (first === -1 ? bytes.length : first + 1)
    this.hasLongLine ||= begun > maxLineLength + lineEnd.length || !hasShortLines(bytes.subarray(first + 1, last + 1))
    this.#lineSize = first === -1 ? begun : bytes.length - 1 - last
  }
}

/** Where in the piece the body begins, -1 if it does not begin there; `tail` are the bytes before the piece. */
function endOfHeader(tail: Buffer, piece: Buffer): number {
  const across = piece[0] === cr || piece[0] === lf ? Buffer.concat([tail, piece.subarray(0, tailSize)]).indexOf(headerEnd) : -1
  if (across !== -1) return across + headerEnd.length - tail.length
  const at = piece.indexOf(headerEnd)
  return at === -1 ? -1 : at + headerEnd.length
}

/** Takes a message as it arrives. After a fault it is told the rest, but need not look at it. */
export interface MessageTaker {
  add(piece: Buffer): void
  fault: unknown
}

/**
 * Reads one message from DATA to its end, even a refused one, because only then does the client listen. Reading pauses while chunks are
 * being stored.
 * @throws ClientGone; the fault of the taker
 */
export async function readToEnd(
  content: ContentStream,
  taker: MessageTaker,
  chunks: Pick<MessageCollector, 'isFull' | 'spill'>,
): Promise<void> {
  let storing: Promise<void> = Promise.resolve()
  let inThisTurn = 0
  const pauseFor = async (work: Promise<void>): Promise<void> => {
    content.pause()
    await work.catch((error: unknown) => (taker.fault ??= error))
    inThisTurn = 0
    content.resume()
  }
  const isComplete = await new Promise<boolean>((resolve) => {
    content.on('data', (piece: Buffer) => {
      taker.add(piece)
      inThisTurn += piece.length
      if (taker.fault === null && chunks.isFull) storing = pauseFor(chunks.spill())
      else if (inThisTurn >= turnSize) void pauseFor(nextTurn())
    })
    content.on('end', () => resolve(true))
    content.on('error', () => resolve(false))
    content.on('close', () => resolve(false))
    content.resume()
  })
  await storing
  if (!isComplete) throw new ClientGone()
  if (taker.fault !== null) throw taker.fault
}

/**
 * Reads one message from DATA into the collector.
 * @throws SmtpRefusal for a bare CR, for a dot alone on a line beside a bare LF, for NUL and for size; ClientGone; whatever `completeHeader`
 * or the collector threw
 */
export async function readMessage(content: ContentStream, collector: MessageCollector, options: ReadMessageOptions): Promise<BodyKind> {
  const intake = new Intake(collector, options)
  await readToEnd(content, intake, collector)
  intake.end()
  if (intake.fault !== null) throw intake.fault
  return { hasEightBitBody: intake.hasEightBitBody, hasLongLine: intake.hasLongLine }
}
