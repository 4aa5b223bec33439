import { simpleParser } from 'mailparser'
import { messageOf } from '../errors.ts'
import { decodeHeaderText } from '../smtp/encoded-word.ts'
import type { ParsedMessage, ParserAnswer } from './message-parser.ts'

/** Reads untrusted MIME with mailparser. Started, and killed where needed, by message-parser.ts. */

// Its conversions between HTML and text take minutes for hostile input, and nobody needs them here. Without
// keepDeliveryStatus a delivery status would be merged into the text.
const options = { skipHtmlToText: true, skipTextToHtml: true, skipImageLinks: true, skipTextLinks: true, keepDeliveryStatus: true }

async function parse(bytes: Buffer): Promise<ParsedMessage> {
  const parsed = await simpleParser(bytes, options)
  return {
    html: parsed.html || null,
    text: parsed.text ?? null,
    attachments: parsed.attachments.map(({ filename, contentType, size, cid }) => ({
      filename: filename ?? null,
      contentType,
      size,
      contentId: cid ?? null,
    })),
    headers: parsed.headerLines.map(({ key, line }) => ({
      name: key,
      value: decodeHeaderText(line.slice(line.indexOf(':') + 1).replace(/\r?\n/g, '')).trim(),
    })),
  }
}

const answer = (given: ParserAnswer): void => void process.send?.(given)

let pieces: Uint8Array[] = []

process.on('message', (piece: Uint8Array | 'end') => {
  if (piece !== 'end') return void pieces.push(piece)
  const bytes = Buffer.concat(pieces)
  pieces = []
  parse(bytes).then(
    (message) => answer({ message }),
    (error: unknown) => answer({ fault: messageOf(error) }),
  )
})
