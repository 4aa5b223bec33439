import { UntrustedReader, type Load } from '../untrusted-reader.ts'

export interface ParsedMessage {
  /** As it came: hostile. */
  html: string | null
  text: string | null
  attachments: ParsedAttachment[]
  /** Names in lower case, values unfolded and decoded, in their order. */
  headers: { name: string; value: string }[]
}

export interface ParsedAttachment {
  filename: string | null
  contentType: string
  /** Whether it is meant to be shown within the text. */
  disposition: 'attachment' | 'inline'
  /** bytes, decoded */
  size: number
  /** Without angle brackets. */
  contentId: string | null
}

/** What is wanted of a message: all but the attachments, or one attachment by its place. */
export type ParserRequest = { attachment: number | null }

/** The content of an attachment comes ahead of `found`, which tells whether there is one at that place. */
export type ParserAnswer = { message: ParsedMessage } | { found: boolean }

export interface MessageParser {
  /**
   * Reads a MIME message that nobody has vouched for; null where there are no bytes of it. Rejects with
   * `invalid_message` where it cannot be read within the limits of time and memory; messages that wait behind it are
   * not affected.
   * @param load gives the message in pieces; called when it is its turn, so that what waits takes no memory
   */
  parse(load: Load): Promise<ParsedMessage | null>
  /** The same for the content of the attachment that stands at this place in `attachments`; null where there is none. */
  attachment(load: Load, place: number): Promise<Uint8Array[] | null>
  /** Ends the parser; what waits is rejected with `service_unavailable`. */
  stop(): Promise<void>
}

/** Starts nothing until the first message comes. */
export function startMessageParser({ timeoutMs = 5000, maxOldSpaceMb = 256 } = {}): MessageParser {
  const child = new URL('./parser-process.ts', import.meta.url)
  const reader = new UntrustedReader<ParserRequest, ParserAnswer>({ child, timeoutMs, maxOldSpaceMb })
  return {
    async parse(load) {
      const reading = await reader.read(load, { attachment: null })
      return reading && 'message' in reading.answer ? reading.answer.message : null
    },
    async attachment(load, place) {
      const reading = await reader.read(load, { attachment: place })
      return reading && 'found' in reading.answer && reading.answer.found ? reading.pieces : null
    },
    stop: () => reader.stop(),
  }
}
