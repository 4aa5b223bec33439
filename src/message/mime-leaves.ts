import type { Readable } from 'node:stream'
import { MailParser, type StructuredHeader } from 'mailparser'

/** A part of a message that holds content, not parts. A message within the message is one. */
export interface MimeLeaf {
  /** Lower case, without parameters. */
  contentType: string
  /** As the part declares it. */
  charset: string | null
  /** Transfer encoding undone. */
  content: Buffer
}

interface MimeMessage {
  /** `name` in lower case; `line` is the field as it came, folding included. */
  fields: { name: string; line: string }[]
  leaves: MimeLeaf[]
}

// A message within the message stays one leaf; the rest is what `parser-process` has its reasons for.
const options = {
  skipHtmlToText: true,
  skipTextToHtml: true,
  skipImageLinks: true,
  skipTextLinks: true,
  keepDeliveryStatus: true,
  ignoreEmbedded: true,
}

/** Not among its types. */
const { processHeaders } = MailParser.prototype as unknown as {
  processHeaders(this: MailParser, lines: { key: string }[]): Map<string, unknown>
}

async function bytesOf(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

/**
 * The header of a MIME message and its leaves in their order (RFC 2045, RFC 2046). For a process that may be killed:
 * some input takes mailparser long.
 * @throws Error where mailparser refuses it: more than 1000 parts, a header of more than 1 MiB
 */
export function mimeLeaves(document: Uint8Array): Promise<MimeMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<MimeMessage>()
  const parser = new MailParser(options as ConstructorParameters<typeof MailParser>[0])
  Object.assign(parser, {
    // Text would be gathered into one piece without order or type; what is no text type is handed over part by part.
    textTypes: [],
    // It would read every field, a list of many thousand addresses for seconds, and nobody asks it for them.
    processHeaders: (lines: { key: string }[]) =>
      processHeaders.call(
        parser,
        lines.filter(({ key }) => key === 'content-type'),
      ),
  })
  const message: MimeMessage = { fields: [], leaves: [] }
  parser.on('headerLines', (lines) => {
    message.fields = lines.map(({ key, line }) => ({ name: key, line }))
  })
  let lastLeaf: Promise<void> = Promise.resolve()
  parser.on('data', (data) => {
    if (data.type !== 'attachment') return
    const parameters = (data.headers.get('content-type') as StructuredHeader | undefined)?.params
    lastLeaf = bytesOf(data.content as Readable).then((content) => {
      message.leaves.push({ contentType: data.contentType || 'text/plain', charset: parameters?.['charset'] ?? null, content })
      data.release()
    })
    lastLeaf.catch(reject)
  })
  parser.on('error', reject)
  // A leaf that ends with the message is whole a moment after it.
  parser.on('end', () => void lastLeaf.then(() => resolve(message), reject))
  parser.end(document)
  return promise
}
