import { simpleParser } from 'mailparser'
import type { ParsedMail } from 'mailparser'
import { messageOf } from '../errors.ts'
import { decodeHeaderText } from '../smtp/encoded-word.ts'
import type { ParsedMessage, ParserAnswer, ParserRequest } from './message-parser.ts'

/** Reads untrusted MIME with mailparser. Started, and killed where needed, by message-parser.ts. */

// Its conversions between HTML and text take minutes for hostile input, and nobody needs them here. Without
// keepDeliveryStatus a delivery status would be merged into the text.
const options = { skipHtmlToText: true, skipTextToHtml: true, skipImageLinks: true, skipTextLinks: true, keepDeliveryStatus: true }

function messageFrom(parsed: ParsedMail): ParsedMessage {
  return {
    html: parsed.html || null,
    text: parsed.text ?? null,
    attachments: parsed.attachments.map(({ filename, contentType, contentDisposition, related, size, cid }) => ({
      filename: filename ?? null,
      contentType,
      disposition: contentDisposition === 'inline' || related ? 'inline' : 'attachment',
      size,
      contentId: cid ?? null,
    })),
    headers: parsed.headerLines.map(({ key, line }) => ({
      name: key,
      value: decodeHeaderText(line.slice(line.indexOf(':') + 1).replace(/\r?\n/g, '')).trim(),
    })),
  }
}

/** bytes; what leaves at once keeps whoever reads it busy for no longer */
const pieceSize = 256 * 1024

const answer = (given: ParserAnswer): void => void process.send?.(given)

function answerAttachment(parsed: ParsedMail, place: number): void {
  const content = parsed.attachments[place]?.content
  for (let start = 0; content && start < content.length; start += pieceSize) {
    answer({ piece: new Uint8Array(content.subarray(start, start + pieceSize)) })
  }
  answer({ end: { found: content !== undefined } })
}

let pieces: Uint8Array[] = []

process.on('message', (piece: Uint8Array | ParserRequest) => {
  if (piece instanceof Uint8Array) return void pieces.push(piece)
  const bytes = Buffer.concat(pieces)
  pieces = []
  const { attachment } = piece
  simpleParser(bytes, options).then(
    (parsed) => (attachment === null ? answer({ message: messageFrom(parsed) }) : answerAttachment(parsed, attachment)),
    (error: unknown) => answer({ fault: messageOf(error) }),
  )
})
