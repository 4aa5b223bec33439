import { UntrustedReader, type Load } from '../untrusted-reader.ts'

export interface ParsedMessage {
  /** As it came: hostile. */
  html: string | null
  text: string | null
  attachments: ParsedAttachment[]
  /** Names in lower case, values unfolded and decoded, in order. */
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

/** What to read from a message: everything except attachments, or one attachment by position. */
export type ParserRequest = { attachment: number | null }

/** The content of an attachment precedes `found`, which says whether there is one at that position. */
export type ParserAnswer = { message: ParsedMessage } | { found: boolean }

export interface MessageParser {
  /**
   * Parses untrusted MIME; null if the message has no stored bytes. Rejects with `invalid_message` if it cannot be parsed within the
   * limits of time and memory; other waiting messages are not affected.
   * @param load returns the message in pieces; it is called when the message's turn comes, so that waiting takes no memory
   */
  parse(load: Load): Promise<ParsedMessage | null>
  /** The same for the content of the attachment at this position in `attachments`; null if there is none. */
  attachment(load: Load, place: number): Promise<Uint8Array[] | null>
  /** Ends the parser; waiting messages are rejected with `service_unavailable`. */
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
