import { parentPort } from 'node:worker_threads'
import { simpleParser } from 'mailparser'
import { messageOf } from '../errors.ts'
import { decodeHeaderText } from '../smtp/encoded-word.ts'
import type { ParsedMessage, ParserAnswer } from './message-parser.ts'

const options = {
  skipHtmlToText: true,
  skipTextToHtml: true,
  skipImageLinks: true,
  skipTextLinks: true,
  // Otherwise a delivery status would be merged into the text.
  keepDeliveryStatus: true,
}

async function parse(bytes: Uint8Array): Promise<ParsedMessage> {
  const parsed = await simpleParser(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), options)
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

const port = parentPort
if (port) {
  port.on('message', (bytes: Uint8Array) => {
    parse(bytes).then(
      (message) => port.postMessage({ message } satisfies ParserAnswer),
      (error: unknown) => port.postMessage({ fault: messageOf(error) } satisfies ParserAnswer),
    )
  })
}
