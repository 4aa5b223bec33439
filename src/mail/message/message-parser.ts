import { UntrustedReader, type Load } from '../../platform/untrusted-reader.ts'
import type { ContentReport } from './content-checks.ts'

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

/**
 * What to read from a message: everything except attachments, one attachment by position, its HTML with at most so many bytes, or what
 * its readers will make of it.
 */
export type ParserRequest = { attachment: number | null } | { htmlLimit: number } | { check: { addsUnsubscribe: boolean } }

/** The bytes precede `found`, which says whether the message has them. */
export type ParserAnswer = { message: ParsedMessage } | { found: boolean } | { report: ContentReport }

export interface MessageParser {
  /**
   * Parses untrusted MIME; null if the message has no stored bytes. Rejects with `invalid_message` if it cannot be parsed within the
   * limits of time and memory; other waiting messages are not affected.
   * @param load returns the message in pieces; it is called when the message's turn comes, so that waiting takes no memory
   */
  parse(load: Load): Promise<ParsedMessage | null>
  /** The same for the content of the attachment at this position in `attachments`; null if there is none. */
  attachment(load: Load, place: number): Promise<Uint8Array[] | null>
  /**
   * The same for its HTML as UTF-8, with its own pictures in place of the links to them; null if it has none. Rejects with
   * `invalid_message` if the HTML is larger than `limit` bytes; pictures that no longer fit are left out.
   */
  html(load: Load, limit: number): Promise<Uint8Array[] | null>
  /** Examines the content; null if the message has no stored bytes. */
  check(load: Load, facts: { addsUnsubscribe: boolean }): Promise<ContentReport | null>
  /** Ends the parser; waiting messages are rejected with `service_unavailable`. */
  stop(): Promise<void>
}

/** Starts nothing until the first message comes. */
export function startMessageParser({ timeoutMs = 5000, maxOldSpaceMb = 256 } = {}): MessageParser {
  const child = new URL('./parser-process.ts', import.meta.url)
  const reader = new UntrustedReader<ParserRequest, ParserAnswer>({ child, timeoutMs, maxOldSpaceMb })
  const bytes = async (load: Load, request: ParserRequest): Promise<Uint8Array[] | null> => {
    const reading = await reader.read(load, request)
    return reading && 'found' in reading.answer && reading.answer.found ? reading.pieces : null
  }
  return {
    async parse(load) {
      const reading = await reader.read(load, { attachment: null })
      return reading && 'message' in reading.answer ? reading.answer.message : null
    },
    attachment: (load, place) => bytes(load, { attachment: place }),
    async check(load, facts) {
      const reading = await reader.read(load, { check: facts })
      return reading && 'report' in reading.answer ? reading.answer.report : null
    },
    html: (load, limit) => bytes(load, { htmlLimit: limit }),
    stop: () => reader.stop(),
  }
}
