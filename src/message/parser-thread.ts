/** The parser thread: reads untrusted MIME with mailparser. Started, and killed where needed, by message-parser.ts. */
import { parentPort } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import { simpleParser } from 'mailparser'
import { messageOf } from '../errors.ts'
import type { ParsedMessage, ParserAnswer, ParserRequest } from './message-parser.ts'

/** Its conversions between HTML and text take minutes for hostile input, and nobody needs them here. */
const options = { skipHtmlToText: true, skipTextToHtml: true, skipImageLinks: true, skipTextLinks: true, keepDeliveryStatus: true }

const port = parentPort as MessagePort
port.on('message', ({ id, bytes }: ParserRequest) => {
  parse(bytes).then(
    (message) => port.postMessage({ id, message } satisfies ParserAnswer),
    (error: unknown) => port.postMessage({ id, fault: messageOf(error) } satisfies ParserAnswer),
  )
})

async function parse(bytes: Uint8Array): Promise<ParsedMessage> {
  const mail = await simpleParser(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), options)
  return {
    html: mail.html || null,
    text: mail.text ?? null,
    attachments: mail.attachments.map(({ filename, contentType, size, cid }) => ({
      filename: filename ?? null,
      contentType,
      size,
      contentId: cid ?? null,
    })),
  }
}
